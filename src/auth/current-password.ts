import { hash as digest } from 'node:crypto';
import QuickLRU from 'quick-lru';
import type { Db } from '../db/db.js';
import { readStatements } from '../db/statements.js';
import { currentPasswordRequired, currentPasswordWrong } from '../errors/credential-errors.js';
import type { LoginThrottle } from '../limits/login-throttle.js';
import { verifyPassword } from '../passwords/password.js';
import type { Principal } from '../principal.js';

const PASSWORD_OF = readStatements('auth.sql').get('password_of')!;

/** Maximum age of a sign-in that replaces the current password, and how far ahead the issuer's clock may be. */
const MAX_SIGN_IN_AGE_S = 300;
const MAX_SKEW_S = 60;

const MAX_VERIFIED = 10_000;
const VERIFIED_MS = 60_000;

/** Verifies passwords. A correct password is remembered for a minute, by a digest. */
export class PasswordCheck {
  readonly #verified = new QuickLRU<string, true>({ maxSize: MAX_VERIFIED / 2, maxAge: VERIFIED_MS });

  /** False without a hash, at the cost of a wrong password. Throws 503 when too many passwords are being checked. */
  async isCorrect(password: string, hash: string | undefined): Promise<boolean> {
    // The hash with its salt is part of the key, so that a changed password is verified again.
    const key = digest('sha256', `${hash}\n${password}`, 'base64');
    if (hash !== undefined && this.#verified.get(key)) return true;
    if (!(await verifyPassword(password, hash))) return false;
    this.#verified.set(key, true);
    return true;
  }
}

/**
 * Requires that users who change their own password know the current one, or signed in within five minutes. Throws
 * 403 without that, 429 while the account must wait after too many failures, and 503 when too many passwords are
 * being checked.
 */
export type RequireCurrentPassword = (
  principal: Principal,
  userId: string,
  currentPassword: string | undefined,
) => Promise<void> | undefined;

/** Reads the committed password outside the request's transaction, so a batch sends the current password once. */
export function currentPasswordRule(
  db: Db,
  check: PasswordCheck,
  throttle: LoginThrottle,
): RequireCurrentPassword {
  async function verify(userId: string, currentPassword: string | undefined): Promise<void> {
    const [row] = await db.run(PASSWORD_OF, [userId]);
    // The write itself reports an unknown user. A first password needs no current one.
    if (!row || row.hash === null) return;
    if (currentPassword === undefined) throw currentPasswordRequired();
    const email = row.email as string;
    const attempt = throttle.beginOf(email);
    if (!(await check.isCorrect(currentPassword, row.hash as string))) {
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
