import { setImmediate } from 'node:timers/promises';
import { invalid } from '../errors/input-errors.js';
import { type JsonObject, member } from '../json.js';
import { isBreached } from './breached-passwords.js';

const MIN_LENGTH = 8;
/** UTF-16 units that a name or an email may have to be equal to a password, of 256 characters at most. NFC may take quadratic time. */
const MAX_NAME_UNITS = 4096;

/** The rules of an operator for new passwords, as settings name them. */
export interface PasswordRules {
  /** Words of the service and of its organization. */
  readonly passwordWords: readonly string[];
  /** A file with the hashes of breached passwords. */
  readonly breachedPasswords: string | undefined;
  /** The address of the service, whose words count as well. */
  readonly publicUrl: string | undefined;
}

let common: Promise<ReadonlySet<string>> | undefined;

/**
 * Throws 400 for a new password that is among the most common ones, or is the user's own email or name (NIST SP 800-63B
 * section 3.1.1.2), in any letter case, or a word of these or of the service, such as the name of the organization, whatever digits and signs
 * it has, or is in the operator's file of breached passwords.
 */
export async function requireUncommonPassword(
  password: string,
  record: JsonObject,
  { passwordWords = [], breachedPasswords, publicUrl }: Partial<PasswordRules> = {},
): Promise<void> {
  const normalized = normalize(password);
  const letters = normalized.replaceAll(/[^\p{L}]/gu, '');
  for (const name of ['email', 'name']) {
    const value = member(record, name);
    if (typeof value !== 'string' || value.length > MAX_NAME_UNITS) continue;
    if (normalize(value) === normalized)
      throw invalid([failure(`must not be the user's own ${name}`, 'personal')]);
    if (letters !== '' && wordsOf(value).includes(letters))
      throw invalid([failure(`must not be a word of the user's own ${name}`, 'personal')]);
  }
  const host = publicUrl === undefined ? '' : new URL(publicUrl).hostname;
  if (letters !== '' && [...passwordWords, host].flatMap(wordsOf).includes(letters))
    throw invalid([failure('must not be a word of this service', 'service')]);
  common ??= readCommonPasswords();
  if ((await common).has(normalized))
    throw invalid([failure('must not be one of the most common passwords', 'common')]);
  if (breachedPasswords !== undefined && (await isBreached(breachedPasswords, password)))
    throw invalid([failure('must not be a password that was published after a breach', 'breached')]);
}

const normalize = (text: string) => text.normalize('NFC').trim().toLowerCase();

const wordsOf = (text: string) => normalize(text).split(/[^\p{L}]+/u);

const failure = (message: string, keyword: string) => ({ path: '/password', message, keyword });

/** Loaded on first use, since unpacking the list takes CPU time. */
async function readCommonPasswords(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import('@zxcvbn-ts/language-common');
  // A tick of its own for the set: both together would block the event loop for too long.
  await setImmediate();
  return new Set(dictionary['passwords-common'].filter(({ length }) => length >= MIN_LENGTH).map(normalize));
}
