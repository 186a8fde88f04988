import { PASSWORDS_SQL } from '../db/core-statements.js';
import type { Row, Run } from '../db/db.js';
import type { Principal } from './principal.js';

const LOCK = PASSWORDS_SQL.lock_version;

/** The version of a user's password, from a row; undefined: the user has none. */
export const passwordVersionOf = ({ version }: Row): number | undefined =>
  typeof version === 'number' ? version : undefined;

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
  return (await run(LOCK, [userId, version])).length > 0;
}
