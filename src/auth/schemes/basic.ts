import { hash as digest } from 'node:crypto';
import type { Config } from '../../config/config.js';
import { createBatcher } from '../../db/batcher.js';
import type { Db, Row } from '../../db/db.js';
import { readStatements } from '../../db/statements.js';
import type { Admission } from '../../limits/login-throttle.js';
import { hashPassword, isOutdated } from '../../passwords/password.js';
import type { Principal } from '../../principal.js';
import type { Log } from '../../telemetry/log.js';
import { sharing } from '../../telemetry/metrics.js';
import type { PasswordCheck } from '../current-password.js';
import { credentialsOf, type Presented, quote, Refusal, type Scheme } from '../scheme.js';

const STATEMENTS = readStatements('auth.sql');
/** UTF-16 units of the 256 code points that a password may have. */
const MAX_PASSWORD_UNITS = 512;
const MAX_EMAIL_UNITS = 254;
/** How much longer a text can be before NFC than after it. */
const NFC_FACTOR = 8;

const READS = { max: 256, inFlight: 2, waiting: 5000, keyOf: (email: string) => email };

/**
 * The email and password of a user (RFC 7617), over TLS only. An unknown user costs as much time as a wrong password.
 * Throws 503 when too many passwords are being checked, which leaves CPU time for other requests.
 */
export function basic(config: Config, db: Db, log: Log, check: PasswordCheck): Scheme {
  const scopes = new Set(config.basicScopes);

  const shared = sharing(db.metrics, 'read', 'passwords');
  const find = createBatcher<string, Row | undefined>({ ...READS, sharing: shared }, async (emails) => {
    const rows = await db.run(STATEMENTS.get('passwords_of')!, [JSON.stringify(emails)]);
    const byEmail = new Map(rows.map((row) => [row.email, row]));
    return emails.map((email) => byEmail.get(email));
  });

  async function verify(presented: Presented, admission: Admission, credentials: string): Promise<Principal> {
    if (!presented.secure && !(config.basicInsecure && presented.loopback))
      throw refusal('Basic credentials are accepted over TLS only.');
    const { email, password } = read(credentials);
    admission.admit(email);
    const row = await find(email);
    const hash = row?.hash as string | undefined;
    if (!(await check.isCorrect(password, hash))) throw refusal('The email or the password is wrong.', email);
    if (isOutdated(hash!, password)) {
      rehash(row!.user_id as string, hash!, password).catch((err: unknown) =>
        log.warn({ err }, 'a password cannot be hashed again; its old hash stays'),
      );
    }
    return {
      subject: row!.user_id as string,
      scopes,
      scheme: 'basic',
      expiresAt: undefined,
      credential: digest('sha256', `${row!.email}\n${hash}`, 'base64'),
    };
  }

  /** Replaces only the hash that was verified: a password set in the meantime stays. */
  async function rehash(userId: string, hash: string, password: string): Promise<void> {
    await db.run(STATEMENTS.get('rehash')!, [userId, hash, await hashPassword(password)]);
  }

  return {
    name: 'basic',
    challenge: () => `Basic realm=${quote(config.realm)}, charset="UTF-8"`,
    authenticate: (presented, admission) => {
      const credentials = credentialsOf(presented, 'basic');
      return credentials === undefined ? undefined : verify(presented, admission, credentials);
    },
  };
}

const refusal = (description: string, account?: string) => new Refusal('basic', description, account);

function read(credentials: string): { email: string; password: string } {
  const text = Buffer.from(credentials, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  if (colon < 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(credentials))
    throw refusal('Basic credentials are the base64 of an email, a colon and a password.');
  const name = text.slice(0, colon).trim();
  const password = text.slice(colon + 1);
  // No user has longer ones, or U+0000, which PostgreSQL cannot store. Lengths first: NFC takes quadratic time.
  const isTooLong = name.length > NFC_FACTOR * MAX_EMAIL_UNITS || password.length > MAX_PASSWORD_UNITS;
  const email = isTooLong ? '' : name.normalize('NFC').toLowerCase();
  if (isTooLong || email.length > MAX_EMAIL_UNITS || email.includes('\0'))
    throw refusal('The email or the password is wrong.');
  return { email, password };
}
