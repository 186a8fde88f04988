import { createHmac, hash, randomBytes } from 'node:crypto';
import type { Db } from '../../db/db.js';
import { ISSUER_SQL } from './issuer-statements.js';
import type { Enrolment } from './pages/second-factor-page.js';
import { notePassword, seenPassword } from './present-request.js';
import { decrypt, encrypt } from './signing-keys.js';

const DIGITS = 6;
/** Steps of 30 seconds by which the clock of the app may be ahead or behind. */
const WINDOW = 1;
const RECOVERY_CODES = 10;
/** 160 bits in base32 (RFC 4226 section 4). */
const SECRET = /^[A-Z2-7]{32}$/;

/** Enrols and verifies authenticator apps (RFC 6238) and recovery codes. Packages are loaded when the first user needs them. */
export class SecondFactors {
  readonly #key: Buffer;

  /** `site`: the name of the account in apps. `secret` encrypts the secrets of apps. */
  constructor(
    readonly db: Db,
    readonly site: string,
    secret: string,
  ) {
    this.#key = createHmac('sha256', secret).update('totp').digest();
  }

  /** A secret that the user has not confirmed yet: a new one, or the one that was offered before. */
  async enrolment(email: string, offered = ''): Promise<Enrolment> {
    const [{ Secret }, { renderSVG }] = [await library(), await import('uqr')];
    const secret = SECRET.test(offered) ? offered : new Secret({ size: 20 }).base32;
    const uri = (await this.#totpOf(secret, email)).toString();
    return { secret, uri, svg: renderSVG(uri, { border: 2 }) };
  }

  /**
   * Stores a secret that a code confirms, and returns recovery codes. Undefined: the code is wrong, the user has an app already,
   * or the password was reset since the request began.
   */
  async confirm(userId: string, secret: string, code: string): Promise<readonly string[] | undefined> {
    const step = SECRET.test(secret) ? await this.#stepOf(secret, code) : undefined;
    if (step === undefined) return undefined;
    // 120 random bits, enough for SHA-256 without a salt, in six groups of hexadecimal digits.
    const codes = Array.from({ length: RECOVERY_CODES }, () =>
      randomBytes(15).toString('hex').match(/.{5}/g)!.join('-'),
    );
    const args = [userId, encrypt(secret, userId, this.#key), step, seenPassword(userId) ?? null];
    return this.db.transaction(async (run) => {
      if ((await run(ISSUER_SQL.add_totp, args)).length === 0) return undefined;
      await run(ISSUER_SQL.add_recovery_codes, [userId, JSON.stringify(codes.map(recoveryHash))]);
      return codes;
    });
  }

  /** The use of a code of the app or a recovery code, of which each is accepted once; undefined: it is wrong. */
  async use(userId: string, code: string): Promise<'code' | 'recovery code' | undefined> {
    if (code.replaceAll(/\s/g, '').length !== DIGITS) {
      const used = await this.db.run(ISSUER_SQL.use_recovery_code, [userId, recoveryHash(code)]);
      return used.length > 0 ? 'recovery code' : undefined;
    }
    const [row] = await this.db.run(ISSUER_SQL.find_totp, [userId]);
    if (!row) return undefined;
    notePassword(userId, row.version);
    const step = await this.#stepOf(decrypt(String(row.secret), userId, this.#key), code);
    if (step === undefined) return undefined;
    return (await this.db.run(ISSUER_SQL.use_totp, [userId, step])).length > 0 ? 'code' : undefined;
  }

  /** The time step of a code; undefined: it belongs to none of the present ones. */
  async #stepOf(secret: string, code: string): Promise<number | undefined> {
    const token = code.replaceAll(/\s/g, '');
    // The library compares bytes of one length.
    if (!/^\d+$/.test(token)) return undefined;
    const timestamp = Date.now();
    const totp = await this.#totpOf(secret, '');
    const delta = totp.validate({ token, timestamp, window: WINDOW });
    return delta === null ? undefined : totp.counter({ timestamp }) + delta;
  }

  async #totpOf(secret: string, label: string) {
    const { TOTP } = await library();
    return new TOTP({ issuer: this.site, label, secret, digits: DIGITS });
  }
}

const library = () => import('otpauth');

/** The SHA-256 of a recovery code as a person may type it; base64. */
const recoveryHash = (code: string): string =>
  hash('sha256', `recovery ${code.toLowerCase().replaceAll(/[^0-9a-f]/g, '')}`, 'base64');
