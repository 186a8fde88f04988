import type { Db } from '../db/db.js';
import { readStatements } from '../db/statements.js';
import { currentPasswordRequired, currentPasswordWrong } from '../errors.js';
import type { LoginThrottle } from '../limits/login-throttle.js';
import type { Principal } from '../principal.js';
import type { PasswordCheck } from './password-check.js';

const PASSWORD_OF = readStatements('auth.sql').get('password_of')!;

/** How long ago a sign-in may be that replaces the current password, and how far ahead the issuer's clock may be. */
const MAX_SIGN_IN_AGE_S = 300;
const MAX_SKEW_S = 60;

/**
 * Requires that a user who changes its own password knows the current one, or signed in within five minutes. Throws
 * 403 without that, 429 while the account has to wait after too many failures, 503 when too many passwords are being
 * checked.
 */
export type RequireCurrentPassword = (
  principal: Principal,
  userId: string,
  currentPassword: string | undefined,
) => Promise<void> | undefined;

/** Reads what is committed, not what the request's transaction has written: a batch proves the password once. */
export function currentPasswordRule(
  db: Db,
  check: PasswordCheck,
  failures: LoginThrottle,
): RequireCurrentPassword {
  async function verify(userId: string, currentPassword: string | undefined): Promise<void> {
    const [row] = await db.run(PASSWORD_OF, [userId]);
    // Without a user the write itself reports that. A first password has no predecessor.
    if (!row || row.hash === null) return;
    if (currentPassword === undefined) throw currentPasswordRequired();
    const email = row.email as string;
    const attempt = failures.beginOf(email);
    if (!(await check.isRight(currentPassword, row.hash as string))) {
      await attempt.fail(email);
      throw currentPasswordWrong();
    }
    attempt.pass();
  }

  return (principal, userId, currentPassword) =>
    hasSignedInRecently(principal) ? undefined : verify(userId, currentPassword);
}

function hasSignedInRecently({ scheme, authenticatedAt }: Principal): boolean {
  if (scheme === 'basic') return true;
  if (authenticatedAt === undefined) return false;
  const age = Date.now() / 1000 - authenticatedAt;
  return age <= MAX_SIGN_IN_AGE_S && age >= -MAX_SKEW_S;
}
