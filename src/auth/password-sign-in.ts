import { hash as digest } from 'node:crypto';
import { createBatcher } from '../db/batcher.js';
import { AUTH_SQL } from '../db/core-statements.js';
import type { Db, Row } from '../db/db.js';
import type { Admission } from '../limits/login-throttle.js';
import { hashPassword, isOutdated } from '../passwords/password.js';
import { sharing } from '../telemetry/instruments.js';
import type { Log } from '../telemetry/log.js';
import type { PasswordCheck } from './current-password.js';

/** UTF-16 units of the 256 code points that a password may have. */
const MAX_PASSWORD_UNITS = 512;
const MAX_EMAIL_UNITS = 254;
/** How much longer a text can be before NFC than after it. */
const NFC_FACTOR = 8;

const READS = { max: 256, inFlight: 2, waiting: 5000, keyOf: (email: string) => email };

/** A user with the right password. */
export interface SignedIn {
  readonly userId: string;
  /** SHA-256 of the email and the hash of the password; base64. */
  readonly credential: string;
  /** The version of the password. */
  readonly passwordVersion: number;
}

/** Someone who is not signed in; `account` is the email in the form that accounts are looked up by, if it can be one. */
export interface NotSignedIn {
  readonly userId: undefined;
  readonly account: string | undefined;
}

/**
 * Verifies an email and a password. An unknown user costs as much time as a wrong password. Throws 429 while the account
 * must wait, and 503 when too many passwords are being checked.
 */
export type SignIn = (
  email: string,
  password: string,
  admission: Admission,
) => Promise<SignedIn | NotSignedIn>;

/** Opens the sign-in of users. A password whose hash has outdated parameters is hashed again. */
export function passwordSignIn(db: Db, log: Log, check: PasswordCheck): SignIn {
  const shared = sharing(db.metrics, 'read', 'passwords');
  const find = createBatcher<string, Row | undefined>({ ...READS, sharing: shared }, async (emails) => {
    const rows = await db.run(AUTH_SQL.passwords_of, [JSON.stringify(emails)]);
    const byEmail = new Map(rows.map((row) => [row.email, row]));
    return emails.map((email) => byEmail.get(email));
  });

  /** Replaces only the hash that was verified: a password set in the meantime stays. */
  async function rehash(userId: string, hash: string, password: string): Promise<void> {
    await db.run(AUTH_SQL.rehash, [userId, hash, await hashPassword(password)]);
  }

  return async (name, password, admission) => {
    const email = accountOf(name, password);
    if (email === undefined) return { userId: undefined, account: undefined };
    admission.admit(email);
    const row = await find(email);
    const hash = row?.hash as string | undefined;
    const isRemembered = check.remembers(password, hash);
    if (!isRemembered && !(await check.isCorrect(password, hash)))
      return { userId: undefined, account: email };
    // The password may have been reset while it was verified, which takes long.
    if (!isRemembered && (await find(email))?.version !== row!.version)
      return { userId: undefined, account: email };
    const userId = row!.user_id as string;
    if (isOutdated(hash!, password)) {
      rehash(userId, hash!, password).catch((err: unknown) =>
        log.warn({ err }, 'a password cannot be hashed again; its old hash stays'),
      );
    }
    return {
      userId,
      credential: digest('sha256', `${row!.email}\n${hash}`, 'base64'),
      passwordVersion: row!.version as number,
    };
  };
}

/** The email as it is stored; undefined if no user can have this email and password. */
function accountOf(text: string, password: string): string | undefined {
  const name = text.trim();
  // No user has longer ones, or U+0000, which PostgreSQL cannot store. Lengths first: NFC takes quadratic time.
  if (name.length > NFC_FACTOR * MAX_EMAIL_UNITS || password.length > MAX_PASSWORD_UNITS) return undefined;
  const email = name.normalize('NFC').toLowerCase();
  return email.length > MAX_EMAIL_UNITS || email.includes('\0') ? undefined : email;
}
