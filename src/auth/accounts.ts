import { hash as digest } from 'node:crypto';
import { createBatcher } from '../db/batcher.js';
import { AUTH_SQL, PASSWORDS_SQL } from '../db/core-statements.js';
import type { Db, Row, Run } from '../db/db.js';
import {
  addressUnconfirmed,
  currentPasswordRequired,
  currentPasswordWrong,
  forbidden,
  passwordNotSet,
  userHasMoreScopes,
  writeDenied,
} from '../errors/caller-errors.js';
import type { Admission, LoginThrottle } from '../limits/login-throttle.js';
import { hashPassword, isOutdated, verifyPassword } from '../passwords/password.js';
import { sharing } from '../telemetry/instruments.js';
import type { Log } from '../telemetry/log.js';
import { parseUuid } from '../uuid.js';
import {
  ACCOUNT_DELETION,
  includes,
  isYoungerThan,
  mayDeleteAccount,
  type Permission,
  type Principal,
  scopesOf,
} from './principal.js';
import { TimedCache } from './timed-cache.js';

/** Maximum age of a session in a browser that replaces the current password. */
const MAX_SIGN_IN_AGE_S = 300;

const MAX_VERIFIED = 10_000;

const VERIFIED_MS = 60_000;

/** Verifies passwords. A correct password is remembered for a minute, by a digest. */
export class PasswordCheck {
  readonly #verified = new TimedCache<true>(MAX_VERIFIED);

  /** Whether a password was correct for a hash within the last minute. */
  remembers(password: string, hash: string | undefined): boolean {
    return hash !== undefined && this.#verified.get(keyOf(password, hash)) === true;
  }

  /** False without a hash, at the cost of a wrong password. Throws 503 when too many passwords are being checked. */
  async isCorrect(password: string, hash: string | undefined): Promise<boolean> {
    if (this.remembers(password, hash)) return true;
    if (!(await verifyPassword(password, hash))) return false;
    this.#verified.set(keyOf(password, hash!), true, VERIFIED_MS);
    return true;
  }
}

/** The hash with its salt is part of the key, so that a changed password is verified again. */
const keyOf = (password: string, hash: string): string => digest('sha256', `${hash}\n${password}`, 'base64');

/** The parts of a write with which a user signs in; undefined: the write does not change that part. */
export interface SignInChange {
  readonly email: string | undefined;
  /** Whether the caller may not read the present email: then a new one is a change, whatever it is. */
  readonly isEmailUnseen?: boolean;
  readonly password: string | undefined;
  readonly currentPassword: string | undefined;
}

/** A caller, and whether it may write all user records, its own only, or those that access rules permit. */
export interface AccountCaller {
  readonly principal: Principal;
  readonly permission: Permission;
  /** Throws 403 unless access rules permit the write: such a caller learns nothing about the account. Absent: there are no rules. */
  readonly requirePermitted?: () => Promise<void>;
}

/**
 * Protects accounts from callers that may write user records. Reads committed scopes and passwords outside the request's transaction, so a
 * batch sends the current password once.
 */
export class AccountProtection {
  /** The page on which users change their address, which messages confirm. Undefined: a write changes it. */
  addressPage: string | undefined;

  constructor(
    readonly db: Db,
    readonly check: PasswordCheck,
    readonly throttle: LoginThrottle,
  ) {}

  /**
   * Requires that a caller has each scope that was granted to another user before it changes the email or the password of that user:
   * with a new password it could sign in as that user. Requires that users who change their own email or password know the current
   * password, or are present themselves: with Basic, or with a session in a browser that began within five minutes. Tokens and
   * keys, which applications hold, never replace the current password. With `addressPage`, only callers that may write all users change
   * an email by a write. Returns the password that confirms the change, which must still be the current one when the change commits;
   * undefined: nothing needs a confirmation. Throws 403, 429 while the account must wait after too many failures, and 503 when too many
   * passwords are being checked.
   */
  async confirm(
    { principal, permission, requirePermitted }: AccountCaller,
    userId: string,
    change: SignInChange,
  ): Promise<VerifiedPassword | undefined> {
    const { email: newEmail, isEmailUnseen, password, currentPassword } = change;
    if (newEmail === undefined && password === undefined) return undefined;
    const [row] = await this.db.run(AUTH_SQL.password_of, [userId]);
    // The write itself reports an unknown user.
    const isEmailLeft = newEmail === row?.email && !isEmailUnseen;
    if (!row || (password === undefined && isEmailLeft)) return undefined;
    await requirePermitted?.();
    if (permission === 'all') {
      if (hasScopesOf(principal, row))
        return password === undefined ? undefined : verifiedPasswordOf(principal);
      if (!isUser(principal, userId)) throw userHasMoreScopes();
    }
    // A user could store the address of another person, who then has no account and no way to one.
    if (!isEmailLeft && newEmail !== undefined && this.addressPage !== undefined && isUser(principal, userId))
      throw addressUnconfirmed(this.addressPage);
    if (hasSignedInRecently(principal)) {
      if (!isUser(principal, userId) && !hasScopesOf(principal, row))
        throw protectedFrom(permission, 'change');
      return verifiedPasswordOf(principal);
    }
    // An application that set the first password could sign in from then on.
    if (row.hash === null) throw passwordNotSet();
    if (currentPassword === undefined) throw currentPasswordRequired();
    const email = row.email as string;
    const attempt = this.throttle.beginOf(email);
    if (!(await this.check.isCorrect(currentPassword, row.hash as string))) {
      await attempt.fail(email);
      throw currentPasswordWrong();
    }
    attempt.pass();
    return { userId, version: row.version as number };
  }

  /** Requires that a caller has each scope that was granted to another user before it deletes that user. Throws 403. */
  async requireDeletable(
    { principal, permission, requirePermitted }: AccountCaller,
    userId: string,
  ): Promise<void> {
    if (principal.scopes.has('admin')) return;
    const [row] = await this.db.run(AUTH_SQL.password_of, [userId]);
    if (!row || hasScopesOf(principal, row)) return;
    await requirePermitted?.();
    if (!isUser(principal, userId) || !mayDeleteAccount(principal)) throw protectedFrom(permission, 'delete');
  }
}

/** Access rules alone refuse a record in these words: a caller learns from no other ones which users have granted scopes. */
const protectedFrom = (permission: Permission, verb: 'change' | 'delete') =>
  permission === 'rules' ? writeDenied(verb) : userHasMoreScopes();

const isUser = ({ subject }: Principal, userId: string): boolean => parseUuid(subject) === userId;

/** The scopes of every user, which concern its own records alone. */
const OF_EVERY_USER: ReadonlySet<string> = new Set(['self', ACCOUNT_DELETION]);

/** Whether a caller has each scope that was granted to a user. */
function hasScopesOf({ scopes }: Principal, { scopes: granted }: Row): boolean {
  return (
    scopes.has('admin') ||
    [...scopesOf(granted)].every((scope) => OF_EVERY_USER.has(scope) || includes(scopes, scope))
  );
}

function hasSignedInRecently({ scheme, signedInAt }: Principal): boolean {
  if (scheme === 'basic') return true;
  return scheme === 'session' && isYoungerThan(MAX_SIGN_IN_AGE_S, signedInAt);
}

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
  /** Whether the user has an authenticator app, and the password alone is not enough. */
  readonly hasTotp: boolean;
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
      hasTotp: row!.has_totp === true,
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
 * password prevents the change, or waits for it. The change is part of the transaction of its request, if there is one. Throws 403.
 */
export function whileSignedIn<T>(
  db: Db,
  { principal, run: outer }: { readonly principal: Principal; readonly run?: Run | undefined },
  change: (db: Pick<Db, 'run' | 'transaction'>) => Promise<T>,
): Promise<T> {
  const verified = verifiedPasswordOf(principal);
  const within = async (run: Run) => {
    if (verified && !(await lockVerifiedPassword(run, verified))) throw forbidden(['admin']);
    return change({ run, transaction: (work) => work(run) });
  };
  if (outer) return within(outer);
  return verified ? db.transaction(within) : change(db);
}
