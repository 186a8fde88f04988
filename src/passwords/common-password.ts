import { setImmediate } from 'node:timers/promises';
import { invalid } from '../errors.js';
import { type JsonObject, member } from '../json.js';

const MIN_LENGTH = 8;

let common: Promise<ReadonlySet<string>> | undefined;

/**
 * Throws the 400 of a new password that many people use, or that is the user's own email or name (NIST SP 800-63B
 * section 3.1.1.2). Letter case is ignored.
 */
export async function requireUncommonPassword(password: string, record: JsonObject): Promise<void> {
  const folded = fold(password);
  for (const name of ['email', 'name']) {
    const value = member(record, name);
    if (typeof value === 'string' && fold(value) === folded)
      throw invalid([failure(`must not be the user's own ${name}`, 'personal')]);
  }
  common ??= readCommonPasswords();
  if ((await common).has(folded))
    throw invalid([failure('must not be one of the most common passwords', 'common')]);
}

const fold = (text: string) => text.normalize('NFC').trim().toLowerCase();

const failure = (message: string, keyword: string) => ({ path: '/password', message, keyword });

/** About 18,000, from 38 ms of unpacking: only a service that sets passwords pays for it. */
async function readCommonPasswords(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import('@zxcvbn-ts/language-common');
  // The set is made in a tick of its own: together they would occupy the event loop for nearly 50 ms.
  await setImmediate();
  return new Set(dictionary['passwords-common'].filter(({ length }) => length >= MIN_LENGTH).map(fold));
}
