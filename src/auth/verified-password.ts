import { PASSWORDS_SQL } from '../db/core-statements.js';
import type { Db, Run } from '../db/db.js';
import { forbidden } from '../errors/caller-errors.js';
import type { Principal } from './principal.js';

/** A user's password as it was when a request verified it, or a sign-in with it. */
export interface VerifiedPassword {
  readonly userId: string;
  readonly version: number;
}

/** The password on which a sign-in is based; undefined: the credential is based on none. */
export function verifiedPasswordOf({ subject, passwordVersion }: Principal): VerifiedPassword | undefined {
  return passwordVersion === undefined ? undefined : { userId: subject, version: passwordVersion };
}

/**
 * Whether a password is still the one that was verified, or the transaction itself has replaced it. Until the end of the
 * transaction no other one can replace it.
 */
export async function lockVerifiedPassword(
  run: Run,
  { userId, version }: VerifiedPassword,
): Promise<boolean> {
  return (await run(PASSWORDS_SQL.lock_version, [userId, version])).length > 0;
}

/**
 * Makes a change that gives access for longer than the sign-in of its caller, while that sign-in is valid: a reset of the
 * password prevents the change, or waits for it. Throws 403.
 */
export function whileSignedIn<T>(
  db: Db,
  principal: Principal,
  change: (db: Pick<Db, 'run' | 'transaction'>) => Promise<T>,
): Promise<T> {
  const verified = verifiedPasswordOf(principal);
  if (!verified) return change(db);
  return db.transaction(async (run) => {
    if (!(await lockVerifiedPassword(run, verified))) throw forbidden(['admin']);
    return change({ run, transaction: (work) => work(run) });
  });
}
