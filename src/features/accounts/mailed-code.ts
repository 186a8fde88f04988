import { hash, randomBytes } from 'node:crypto';
import type { Run } from '../../db/db.js';
import { rateLimited } from '../../errors/caller-errors.js';
import { nextIdentity } from '../../uuid.js';
import { ACCOUNTS_SQL } from './accounts-statements.js';
import { codeEnded } from './errors.js';
import { type CodeKind, type Language, MESSAGES } from './mail-messages.js';

/** Letters and digits that people do not confuse (Crockford). */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** To which address a code was sent, for which user, and the thing that it is about, such as an invitation. */
export interface MailedCode {
  readonly recipient: string;
  readonly owner: string | undefined;
  readonly about: string | undefined;
}

interface CodeRequest {
  readonly kind: CodeKind;
  /** In the form in which users have addresses. */
  readonly recipient: string;
  readonly language: Language;
  readonly about?: string;
  /** The page to which the person returns in the end. */
  readonly returnTo?: string | undefined;
}

/**
 * Stores a message with a code, which the outbox makes when it sends the message, in a transaction. No user is read, so that the
 * duration of a request does not depend on them. Throws 429.
 */
export async function requestCode(run: Run, request: CodeRequest): Promise<void> {
  const { kind, recipient, language, about = null, returnTo = null } = request;
  await run(ACCOUNTS_SQL.lock_recipient, [recipient]);
  const message = [nextIdentity().id, kind, recipient, language, about, MESSAGES[kind].seconds, returnTo];
  const [row] = await run(ACCOUNTS_SQL.request_code, message);
  if (row) throw rateLimited(Number(row.wait));
}

/** Makes the code of a message, of which the database has the hash. A former code of the message ends. */
export async function createCode(run: Run, kind: CodeKind, mailId: string, owner: string | null) {
  const letters = [...randomBytes(16)].map((byte) => ALPHABET[byte % ALPHABET.length]);
  const code = letters.join('').match(/.{4}/g)!.join('-');
  await run(ACCOUNTS_SQL.create_code, [codeHash(code), mailId, owner, MESSAGES[kind].seconds]);
  return code;
}

/** Reads a valid code. Throws 403. */
export async function findCode(run: Run, kind: CodeKind, code: string): Promise<MailedCode> {
  const [row] = await run(ACCOUNTS_SQL.find_code, [codeHash(code), kind]);
  if (!row) throw codeEnded();
  const textOf = (value: unknown) => (value === null ? undefined : String(value));
  return { recipient: String(row.recipient), owner: textOf(row.owner), about: textOf(row.about) };
}

/** Ends a code in the transaction of what it permits. The codes of an address are used one after the other. Throws 403. */
export async function endCode(run: Run, kind: CodeKind, code: string, recipient: string): Promise<void> {
  await run(ACCOUNTS_SQL.lock_recipient, [recipient]);
  await findCode(run, kind, code);
  const ended = await run(ACCOUNTS_SQL.end_code, [codeHash(code)]);
  if (ended.length === 0) throw codeEnded();
}

/** The SHA-256 of a code as a person may type it; base64. */
export function codeHash(code: string): string {
  const typed = code
    .toUpperCase()
    .replaceAll('O', '0')
    .replaceAll(/[IL]/g, '1')
    .replaceAll(/[^0-9A-Z]/g, '');
  return hash('sha256', `code ${typed}`, 'base64');
}
