import type { Db } from '../../db/db.js';
import { rateLimited } from '../../errors/caller-errors.js';
import { invalidBody, payloadTooLarge, unsupportedMediaType } from '../../errors/input-errors.js';
import { originNotAllowed } from '../../errors/request-errors.js';
import type { Auth, ScopedCollection } from '../../feature.js';
import { FORM_TYPE, JSON_TYPE } from '../../http/media-types.js';
import type { HandledRequest } from '../../http/request.js';
import { readJson } from '../../http/strict-json.js';
import { isObject, type JsonObject } from '../../json.js';
import { compileOnFirstUse } from '../../validation/validation.js';
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

/** Whether a page of another origin had its browser send a request (Fetch Metadata). Browsers say so over https and on localhost alone. */
export const isFromOtherOrigin = ({ headers: { 'sec-fetch-site': site } }: HandledRequest['req']): boolean =>
  site !== undefined && site !== 'same-origin' && site !== 'none';

/** Reads the fields of a form on a page of this service, or a JSON object, within the limit of its network. Throws 400, 403, 413, 415 and 429. */
export async function admittedInput(services: AccountServices, { req, body, address }: HandledRequest) {
  if (body.length > MAX_BYTES) throw payloadTooLarge(MAX_BYTES);
  const seconds = await services.limit(address);
  if (seconds !== undefined) throw rateLimited(seconds);
  const [type = ''] = (req.headers['content-type'] ?? '').split(';');
  const accepted = [JSON_TYPE, FORM_TYPE].find((each) => each === type.trim().toLowerCase());
  if (accepted === undefined) throw unsupportedMediaType('Accept-Post', [JSON_TYPE, FORM_TYPE]);
  const isForm = accepted === FORM_TYPE;
  if (isForm && isFromOtherOrigin(req)) throw originNotAllowed();
  const fields = isForm && JSON.stringify(Object.fromEntries(new URLSearchParams(body.toString())));
  const values = await readJson(fields ? Buffer.from(fields) : body);
  return { isForm, values: isObject(values) ? values : {} };
}

/** The rules of an address to which a message is sent, and the form in which users have it. */
export const EMAIL = { type: 'string', format: 'email', maxLength: 254 };
export const NORMALIZED_EMAIL = { email: ['trim', 'nfc', 'lower'] } as const;

/** Reads an address in the form in which users have it. Throws 400, also for members with which a request does nothing. */
const addressCheck = (email: object) =>
  compileOnFirstUse({
    schema: {
      type: 'object',
      required: ['email'],
      additionalProperties: false,
      properties: { email, return: { type: 'string' } },
    },
    normalize: NORMALIZED_EMAIL,
  }) as unknown as (body: JsonObject) => { readonly fields: { readonly email: string } };

export const checkAddress = addressCheck(EMAIL);
/** The declaration of users decides what is an address: it may demand no format. PostgreSQL stores no U+0000. */
export const checkKnownAddress = addressCheck({ type: 'string', maxLength: 254, pattern: '^[^\\u0000]+$' });

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

export const invalidReturn = () =>
  invalidBody('must be a page of this service or of one of its clients', 'return', '/return');
