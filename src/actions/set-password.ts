import type { VerifiedPassword } from '../auth/verified-password.js';
import { nextAttempt } from '../collection/next-attempt.js';
import { isStored } from '../collection/record.js';
import type { JsonObject } from '../json.js';
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
  for (let attempt = 0; ; attempt = nextAttempt(attempt)) {
    const current = await users.get(id);
    if (typeof current === 'string') return false;
    const record = JSON.parse(current.doc) as JsonObject;
    const draft = users.check({ ...record, password }, 'request', { record, isPatch: true });
    const preconditions = { versions: [current.version], notVersions: null, unmodifiedSince: null };
    const outcome = await users.replace(id, { ...draft, confirmedBy }, preconditions);
    if (isStored(outcome)) return true;
    if (typeof outcome === 'string') return false;
  }
}
