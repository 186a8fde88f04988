import type { Db } from '../../db/db.js';
import { rateLimited } from '../../errors/caller-errors.js';
import { invalidBody, payloadTooLarge } from '../../errors/input-errors.js';
import { type Failure, Problem } from '../../errors/problem.js';
import { originNotAllowed } from '../../errors/request-errors.js';
import type { Auth, ScopedCollection } from '../../feature.js';
import { JSON_TYPE } from '../../http/media-types.js';
import type { Reply } from '../../http/reply.js';
import type { HandledRequest } from '../../http/request.js';
import { type JsonObject, member } from '../../json.js';
import { ACCOUNTS_SQL } from './accounts-statements.js';
import type { Inviting } from './invitation-records.js';
import type { Outbox } from './mail-outbox.js';
import type { AccountsConfig } from './settings.js';

export interface AccountServices {
  readonly db: Db;
  readonly users: ScopedCollection;
  readonly inviting: Inviting;
  /** Whether people can sign in with a password. */
  readonly hasSignIn: boolean;
  readonly settings: AccountsConfig;
  readonly outbox: Outbox;
  /** Finds users that have signed in in a browser; undefined: there are none. */
  readonly session: Auth['session'];
  /** The address of links in messages. */
  readonly origin: string;
  /** The page on which people sign in; undefined: programs do so with each request. */
  readonly signInPage: string | undefined;
  /** Counts a request of an address; resolves to the seconds after which it may be repeated, undefined within the limit. */
  readonly limit: (address: string) => Promise<number | undefined>;
}

const MAX_BYTES = 8192;

/** The input of a person or a program: the fields of a form, or a JSON object. */
export interface Input {
  readonly isForm: boolean;
  readonly values: JsonObject;
}

/** Reads a request within the limit of its network, of a form on a page of this service. Throws 403, 413 and 429. */
export async function admittedInput(services: AccountServices, request: HandledRequest): Promise<Input> {
  const { req, body, address } = request;
  if (body.length > MAX_BYTES) throw payloadTooLarge(MAX_BYTES);
  const seconds = await services.limit(address);
  if (seconds !== undefined) throw rateLimited(seconds);
  const isForm = /^application\/x-www-form-urlencoded\b/i.test(req.headers['content-type'] ?? '');
  const site = req.headers['sec-fetch-site'];
  if (isForm && site !== undefined && site !== 'same-origin' && site !== 'none') throw originNotAllowed();
  const values = isForm
    ? Object.fromEntries(new URLSearchParams(body.toString()))
    : objectOf(body.toString());
  return { isForm, values };
}

/** A text of a request; empty: there is none. */
export function textIn(values: JsonObject, name: string): string {
  const value = member(values, name);
  return typeof value === 'string' ? value : '';
}

function objectOf(text: string): JsonObject {
  try {
    return Object(JSON.parse(text)) as JsonObject;
  } catch {
    return {};
  }
}

/** An address in the form in which users have it; undefined: no user can have it. */
export function addressOf(given: string): string | undefined {
  const text = given.trim();
  // Some other letters have ASCII letters as their lower case.
  const isPlain = text.length <= 254 * 8 && !/[\0\u0130\u212a]/.test(text);
  return isPlain ? text.normalize('NFC').toLowerCase() : undefined;
}

const MAX_RETURN = 2000;

/** A page of this service, or of a client of its authorization server, to which a person returns. Undefined: another one, or none. */
export async function returnAddress(
  { db, origin }: AccountServices,
  given: unknown,
): Promise<string | undefined> {
  if (typeof given !== 'string' || !URL.canParse(given, origin) || given.length > MAX_RETURN)
    return undefined;
  const url = new URL(given, origin);
  if (given === '' || !/^https?:$/.test(url.protocol)) return undefined;
  const isKnown =
    url.origin === new URL(origin).origin ||
    (await db.run(ACCOUNTS_SQL.is_origin_of_client, [url.origin])).length > 0;
  return isKnown ? url.href : undefined;
}

export const invalidReturn = (): Problem =>
  invalidBody('must be a page of this service or of one of its clients', 'return', '/return');

/** The response to a program. */
export const programReply = (status: number, body: object, fields: readonly string[] = []): Reply => ({
  status,
  headers: ['Content-Type', JSON_TYPE, 'Cache-Control', 'no-store', ...fields],
  body: JSON.stringify(body),
});

/** The failures that a form shows. Throws errors that no other entry prevents. */
export function shownFailures(error: unknown): readonly [Failure, ...Failure[]] {
  if (!(error instanceof Problem) || error.status >= 429) throw error;
  const { details } = error.more;
  const [first, ...others] = Array.isArray(details) ? (details as Failure[]) : [];
  return first ? [first, ...others] : [{ path: '', message: error.message, keyword: error.code }];
}
