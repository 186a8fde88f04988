import type { Principal } from '../../auth/principal.js';
import { lockVerifiedPassword, verifiedPasswordOf } from '../../auth/verified-password.js';
import type { Db } from '../../db/db.js';
import { forbidden } from '../../errors/caller-errors.js';

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
