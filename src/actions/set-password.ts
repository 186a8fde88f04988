import type { VerifiedPassword } from '../auth/accounts.js';
import { isStored } from '../collection/record.js';
import { NO_PRECONDITIONS } from '../collection/write-preconditions.js';
import type { Collection } from '../list/open-collection.js';

/**
 * Sets the password of a user, with the rules of requests. With `confirmedBy`, only while that password is current. False:
 * there is no such user. Throws 400, and 403 if that password is no longer current.
 */
export async function setPassword(
  users: Collection,
  id: string,
  password: string,
  confirmedBy?: VerifiedPassword,
): Promise<boolean> {
  const outcome = await users.change(id, {
    preconditions: NO_PRECONDITIONS,
    isRead: true,
    next: (present) => {
      const { record } = present!;
      const input = users.check({ ...record, password }, 'request', { record, isPatch: true });
      return { ...input, confirmedBy };
    },
  });
  return isStored(outcome);
}
