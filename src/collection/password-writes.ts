import { lockVerifiedPassword } from '../auth/accounts.js';
import { PASSWORDS_SQL } from '../db/core-statements.js';
import type { Db, Run } from '../db/db.js';
import { currentPasswordWrong } from '../errors/caller-errors.js';
import type { JsonObject } from '../json.js';
import { requireUncommonPassword } from '../passwords/common-password.js';
import { hashPassword } from '../passwords/password.js';
import type { Change, Changed } from './changes.js';
import { isStored } from './record.js';
import type { compileInput, ValidatedInput } from './validated-input.js';

/**
 * Writes a record together with its password, and while the password that has confirmed the write is current, in one
 * transaction. Undefined: the input has neither. Rejects with 403.
 */
export function withPassword<T>(
  db: Db,
  id: string,
  input: ValidatedInput,
  run: Run | undefined,
  write: (run: Run) => Promise<T>,
): Promise<T> | undefined {
  const hash = storedPassword(input);
  const { confirmedBy } = input;
  if (!hash && !confirmedBy) return undefined;
  const all = async (run: Run, hashed: string | undefined): Promise<T> => {
    const written = await write(run);
    if (!isStored(written)) return written;
    // After the write, so that all lock the user before the password.
    if (confirmedBy && !(await lockVerifiedPassword(run, confirmedBy))) throw currentPasswordWrong();
    if (hashed !== undefined) await run(PASSWORDS_SQL.set_password, [id, hashed]);
    return written;
  };
  if (!hash) return run ? all(run, undefined) : db.transaction((run) => all(run, undefined));
  return hash.then((hashed) => {
    if (!run) return db.transaction((run) => all(run, hashed));
    // A hash takes long, and the transaction holds locks.
    if (input.passwordHash === undefined) throw new Error('a password in a transaction has no hash yet');
    return all(run, hashed);
  });
}

/**
 * The hash that a draft's password is stored as; undefined when the draft has none. Rejects with the 400 of a common
 * password, 503 when too many passwords wait to be hashed.
 */
export function storedPassword(draft: ValidatedInput): Promise<string> | undefined {
  const { password, passwordHash, passwordRules, fields } = draft;
  if (password === undefined) return passwordHash === undefined ? undefined : Promise.resolve(passwordHash);
  const checked = requireUncommonPassword(password, fields, passwordRules);
  return checked.then(() => passwordHash ?? hashPassword(password));
}

/** The users whose fields the service sets. */
interface Users {
  readonly check: ReturnType<typeof compileInput>;
  readonly change: (id: string, change: Change, run?: Run) => Promise<Changed>;
}

/**
 * Sets fields of a user with the rules of requests, also the password. `more`: the hash in place of a password, and the password that must
 * still be current. False: there is no such user. Throws 400, and 403 if that password is no longer current.
 */
export async function setUserFields(
  users: Users,
  id: string,
  fields: JsonObject,
  more: Partial<Pick<ValidatedInput, 'confirmedBy' | 'passwordHash'>> = {},
  run?: Run,
): Promise<boolean> {
  const next: Change['next'] = (present) => {
    const { record } = present!;
    return { ...users.check({ ...record, ...fields }, 'request', { record, isPatch: true }), ...more };
  };
  return isStored(await users.change(id, { isRead: true, next }, run));
}
