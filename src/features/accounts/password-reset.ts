import { storedPassword } from '../../collection/password-writes.js';
import { NO_PRECONDITIONS } from '../../collection/write-preconditions.js';
import type { Db } from '../../db/db.js';
import { rateLimited } from '../../errors/caller-errors.js';
import { payloadTooLarge } from '../../errors/input-errors.js';
import { type Failure, Problem } from '../../errors/problem.js';
import type { Collection } from '../../feature.js';
import { JSON_TYPE } from '../../http/media-types.js';
import type { Reply } from '../../http/reply.js';
import type { HandledRequest } from '../../http/request.js';
import { nextIdentity } from '../../uuid.js';
import { ACCOUNTS_SQL } from './accounts-statements.js';
import { codeEnded } from './errors.js';
import { languageOf } from './mail-messages.js';
import type { Outbox } from './mail-outbox.js';
import { findCode, requestCode, useCode } from './mailed-code.js';
import { forgottenPage, pageReply, resetPage } from './password-pages.js';

export interface AccountServices {
  readonly db: Db;
  readonly users: Collection;
  readonly outbox: Outbox;
  /** Counts a request of an address; resolves to the seconds after which it may be repeated, undefined within the limit. */
  readonly limit: (address: string) => Promise<number | undefined>;
}

const MAX_BYTES = 8192;

/** The input of a person or a program: the fields of a form, or of a JSON object. */
interface Input {
  readonly isForm: boolean;
  readonly field: (name: string) => string;
}

/** Responds to requests for a message with a link: the response is the same for each address. Throws 413 and 429. */
export async function requestReset(services: AccountServices, request: HandledRequest): Promise<Reply> {
  const { req, address } = request;
  const language = languageOf(req.headers['accept-language']);
  if (req.method !== 'POST') return pageReply(200, forgottenPage(language, 'ask'));
  const input = inputOf(request);
  await admit(services, address);
  const { db, users, outbox } = services;
  const email = normalized(users, input.field('email'));
  if (email !== undefined)
    await db.transaction((run) => requestCode(run, { kind: 'reset', recipient: email, language }));
  outbox.wake();
  return input.isForm
    ? pageReply(200, forgottenPage(language, 'sent'))
    : { status: 202, headers: ['Content-Type', JSON_TYPE, 'Cache-Control', 'no-store'], body: '{}' };
}

/** Responds to requests that set a password by a code. Throws 400, 403 `CODE_ENDED`, 413, 429. */
export async function reset(services: AccountServices, request: HandledRequest): Promise<Reply> {
  const { req, address } = request;
  const language = languageOf(req.headers['accept-language']);
  if (req.method !== 'POST') {
    const code = new URL(req.url!, 'http://localhost').searchParams.get('code') ?? '';
    return pageReply(200, resetPage(language, { code }));
  }
  const input = inputOf(request);
  await admit(services, address);
  const code = input.field('code');
  try {
    await setByCode(services, code, input.field('password'), language);
  } catch (error) {
    if (!input.isForm || !(error instanceof Problem) || error.status >= 429) throw error;
    const [failure] = Array.isArray(error.more.details) ? (error.more.details as Failure[]) : [];
    const reason = failure ? ({ password: failure.message } as const) : 'ended';
    return pageReply(422, resetPage(language, { code, reason }));
  }
  services.outbox.wake();
  return input.isForm
    ? pageReply(200, resetPage(language, { code: '', reason: 'done' }))
    : { status: 204, headers: ['Cache-Control', 'no-store'] };
}

/** In one transaction, so that a code is used if and only if the password is set. */
async function setByCode({ db, users }: AccountServices, code: string, password: string, language: string) {
  const id = (await findCode(db, 'reset', code)).owner!;
  const record = await recordOf(users, id);
  const checked = users.check({ ...record, password }, 'request', { record, isPatch: true });
  const passwordHash = await storedPassword(checked);
  await db.transaction(async (run) => {
    await useCode(run, 'reset', code);
    const next = ({ record }: { record: typeof checked.fields }) => {
      const input = users.check(record, 'request', { record, isPatch: true });
      return { ...input, passwordHash };
    };
    await users.change(
      id,
      { preconditions: NO_PRECONDITIONS, isRead: true, next: (present) => next(present!) },
      run,
    );
    await run(ACCOUNTS_SQL.tell_changed, [nextIdentity().id, id, language]);
  });
}

async function recordOf(users: Collection, id: string) {
  const stored = await users.get(id);
  if (typeof stored === 'string') throw codeEnded();
  return JSON.parse(stored.doc);
}

async function admit({ limit }: AccountServices, address: string): Promise<void> {
  const seconds = await limit(address);
  if (seconds !== undefined) throw rateLimited(seconds);
}

function inputOf({ req, body }: HandledRequest): Input {
  if (body.length > MAX_BYTES) throw payloadTooLarge(MAX_BYTES);
  const isForm = /^application\/x-www-form-urlencoded\b/i.test(req.headers['content-type'] ?? '');
  const form = new URLSearchParams(isForm ? body.toString() : '');
  const json: Record<string, unknown> = isForm ? {} : objectOf(body.toString());
  return {
    isForm,
    field: (name) => (isForm ? (form.get(name) ?? '') : typeof json[name] === 'string' ? json[name] : ''),
  };
}

function objectOf(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/** An address in the form in which users have it; undefined: no user can have it. */
function normalized({ resource }: Collection, email: string): string | undefined {
  const text = email.trim();
  if (!resource.hasPasswords || text.length > 254 * 8 || text.includes('\0')) return undefined;
  return text.normalize('NFC').toLowerCase();
}
