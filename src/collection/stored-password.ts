import { requireUncommonPassword } from '../passwords/common-password.js';
import { hashPassword } from '../passwords/password.js';
import type { ValidatedInput } from './validated-input.js';

/**
 * The hash that a draft's password is stored as; undefined when the draft has none. Rejects with the 400 of a common
 * password, 503 when too many passwords wait to be hashed.
 */
export function storedPassword(draft: ValidatedInput): Promise<string> | undefined {
  const { password, passwordHash, fields } = draft;
  if (password === undefined) return passwordHash === undefined ? undefined : Promise.resolve(passwordHash);
  return requireUncommonPassword(password, fields).then(() => passwordHash ?? hashPassword(password));
}
