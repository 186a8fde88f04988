import { hash, randomBytes } from 'node:crypto';
import type { Db, Run } from '../../db/db.js';
import { rateLimited } from '../../errors/caller-errors.js';
import { nextIdentity } from '../../uuid.js';
import { ACCOUNTS_SQL } from './accounts-statements.js';
import { codeEnded } from './errors.js';
import type { Language } from './mail-messages.js';

/** The purposes of codes, and the seconds for which they are valid. */
export const CODE_SECONDS = {
  reset: 30 * 60,
  'sign-up': 30 * 60,
  invitation: 7 * 24 * 3600,
  address: 30 * 60,
  removal: 30 * 60,
} as const satisfies Record<string, number>;
export type CodeKind = keyof typeof CODE_SECONDS;

const CODE_BYTES = 10;
/** Letters and digits that people do not confuse (Crockford). */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** To which address a code was sent, for which user, and the thing that it is about, such as an invitation. */
export interface MailedCode {
  readonly recipient: string;
  readonly owner: string | undefined;
  readonly about: string | undefined;
}

export interface CodeRequest {
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
export async function requestCode(
  run: Run,
  { kind, recipient, language, about, returnTo }: CodeRequest,
): Promise<void> {
  await run(ACCOUNTS_SQL.lock_recipient, [recipient]);
  const id = nextIdentity().id;
  const [row] = await run(ACCOUNTS_SQL.request_code, [
    ...[id, kind, recipient, language, about ?? null],
    ...[CODE_SECONDS[kind], returnTo ?? null],
  ]);
  if (row) throw rateLimited(Number(row.wait));
}

/** Makes the code of a message, of which the database has the hash. A former code of the message ends. */
export async function createCode(
  run: Run,
  kind: CodeKind,
  mailId: string,
  owner: string | null,
): Promise<string> {
  const code = newCode();
  await run(ACCOUNTS_SQL.create_code, [codeHash(code), mailId, owner, CODE_SECONDS[kind]]);
  return code;
}

/** Reads a valid code. Throws 403. */
export async function findCode({ run }: Pick<Db, 'run'>, kind: CodeKind, code: string): Promise<MailedCode> {
  const [row] = await run(ACCOUNTS_SQL.find_code, [codeHash(code), kind]);
  if (!row) throw codeEnded();
  const textOf = (value: unknown) => (value === null ? undefined : String(value));
  return { recipient: String(row.recipient), owner: textOf(row.owner), about: textOf(row.about) };
}

/**
 * Uses a code in the transaction of what it permits, so that neither happens without the other. The codes of an address are used one
 * after the other. Throws 403.
 */
export async function useCode(run: Run, kind: CodeKind, code: string): Promise<MailedCode> {
  const found = await findCode({ run }, kind, code);
  await run(ACCOUNTS_SQL.lock_recipient, [found.recipient]);
  const ended = await run(ACCOUNTS_SQL.end_code, [codeHash(code)]);
  if (ended.length === 0) throw codeEnded();
  return found;
}

/** 80 random bits in four groups of letters and digits. */
function newCode(): string {
  const bits = [...randomBytes(CODE_BYTES)].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const letters = bits.match(/.{5}/g)!.map((five) => ALPHABET[Number.parseInt(five, 2)]);
  return letters.join('').match(/.{4}/g)!.join('-');
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
