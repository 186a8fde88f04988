import { hash } from 'node:crypto';
import type { Adapter, AdapterPayload } from 'oidc-provider';
import { databaseErrorOf, FOREIGN_KEY_VIOLATION } from '../../db/database-errors.js';
import type { Db, Row } from '../../db/db.js';
import { ISSUER_SQL } from './issuer-statements.js';
import { errors, Provider } from './oidc-provider.js';
import { recordHash } from './own-tokens.js';
import { notePassword, seenPassword } from './present-request.js';
import type { IssuerConfig } from './settings.js';
import { isStranger, MAX_STRANGERS, type Strangers } from './strangers.js';
import { findUser } from './user-claims.js';

/** Stands for the id of a record that was found by something else: the database knows only the id's SHA-256. */
const HANDLE = '#';

const NO_SETTINGS = { refreshReuseSeconds: 0, sessionIdleSeconds: 0 };

/** The models that are issued from a grant and end with it. */
const ISSUED = new Set(['AuthorizationCode', 'DeviceCode', 'AccessToken', 'RefreshToken']);

/** Records of strangers that are deleted at once when there are too many: more than begin while one is deleted. */
const EVICTED = 100;

/**
 * Stores one model of oidc-provider in the database. Ids, which are secrets, and user codes are stored as SHA-256 alone.
 * The database's clock decides when a record expires.
 */
export class Records implements Adapter {
  constructor(
    readonly db: Db,
    readonly model: string,
    readonly strangers?: Strangers,
    readonly settings: Pick<IssuerConfig, 'refreshReuseSeconds' | 'sessionIdleSeconds'> = NO_SETTINGS,
  ) {}

  /**
   * Throws invalid_grant if the grant was revoked, the password reset, or the user or the client deleted, in the
   * meantime, and temporarily_unavailable if too many sign-ins begin from an address.
   */
  async upsert(id: string, payload: AdapterPayload, expiresIn: number): Promise<void> {
    const { jti: _id, userCode, ...stored } = payload;
    const { grantId, uid, clientId, session } = stored;
    // An interaction would contain the session's cookie.
    if (session) stored.session = { ...session, cookie: undefined };
    const userId = userOf(stored);
    const hash = this.#hashOf(id);
    if (isStranger(this.model, userId)) await this.#admitStranger(hash);
    const args = [
      hash,
      this.model,
      JSON.stringify(stored),
      grantId !== undefined && ISSUED.has(this.model) ? recordHash('Grant', grantId) : null,
      this.model === 'Session' ? (uid ?? null) : null,
      userCode === undefined ? null : hashOf(userCode),
      userId ?? null,
      clientId ?? null,
      this.#isSession(userId) ? Math.min(expiresIn, this.settings.sessionIdleSeconds) : expiresIn,
      userId === undefined ? null : (seenPassword(userId) ?? null),
    ];
    try {
      const rows = await this.db.run(ISSUER_SQL.upsert_record, args);
      if (rows.length > 0 || (await this.#isReplayed(userId))) return;
      throw new errors.InvalidGrant('the grant has been revoked, or the password was reset');
    } catch (error) {
      if (databaseErrorOf(error)?.code !== FOREIGN_KEY_VIOLATION) throw error;
      throw new errors.InvalidGrant('the user or the client has been deleted');
    }
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    // Only a stored interaction refers to a device code by its handle; a client must present the code itself.
    const isHandle = id.startsWith(HANDLE) && Provider.ctx?.oidc?.route === 'device_resume';
    const hash = isHandle ? id.slice(1) : recordHash(this.model, id);
    const [row] = await this.#find('find_record', hash, this.#againS);
    if (row) await this.#use(row);
    return row && payloadOf(row, id);
  }

  /** A refresh by a token that ends with a session is a use of the session. */
  async findByUid(uid: string): Promise<AdapterPayload | undefined> {
    const [row] = await this.#find('find_other', uid, null);
    if (row) await this.#use(row);
    return row && payloadOf(row, HANDLE + row.hash);
  }

  async findByUserCode(userCode: string): Promise<AdapterPayload | undefined> {
    const [row] = await this.#find('find_other', null, hashOf(userCode));
    return row && { ...payloadOf(row, HANDLE + row.hash), userCode };
  }

  /**
   * Of concurrent calls one returns; the others revoke the grant and throw invalid_grant (RFC 9700 section 4.14.2). Those for
   * a refresh token within the period of reuse return, too.
   */
  async consume(id: string): Promise<void> {
    const rows = await this.db.run(ISSUER_SQL.consume_record, [this.#hashOf(id), this.#againS]);
    if (rows.length > 0) return;
    await this.#run('revoke_family', this.#hashOf(id));
    throw new errors.InvalidGrant(`${this.model} already used`);
  }

  /**
   * Whether a record is not stored because another use of its code has ended the grant, and for no other reason. Then the first use
   * succeeds (RFC 6749 section 4.1.2), and its tokens have ended.
   */
  async #isReplayed(userId: string | undefined): Promise<boolean> {
    if (!Provider.ctx?.oidc.entities.AuthorizationCode || userId === undefined) return false;
    const user = await findUser(this.db, userId);
    return user !== undefined && user.passwordVersion === seenPassword(userId);
  }

  async destroy(id: string): Promise<void> {
    await this.#run('delete_record', this.#hashOf(id));
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    await this.db.run(ISSUER_SQL.delete_of_grant, [recordHash('Grant', grantId), this.model]);
  }

  /** The steps of a sign-in that has begun are admitted. */
  async #admitStranger(hash: string): Promise<void> {
    if ((await this.#run('has_record', hash)).length > 0) return;
    await this.strangers?.admit();
    await this.db.run(ISSUER_SQL.make_room, [MAX_STRANGERS, EVICTED]);
  }

  get #againS(): number {
    return this.model === 'RefreshToken' ? this.settings.refreshReuseSeconds : 0;
  }

  /** Lets the session of a user continue. */
  async #use({ hash, subject }: Row): Promise<void> {
    if (!this.#isSession(subject)) return;
    await this.db.run(ISSUER_SQL.use_session, [String(hash), this.settings.sessionIdleSeconds]);
  }

  #isSession(userId: unknown): boolean {
    return this.model === 'Session' && typeof userId === 'string';
  }

  /** Ids of records that exist come from `find`, never from a request as they are. */
  #hashOf(id: string): string {
    return id.startsWith(HANDLE) ? id.slice(1) : recordHash(this.model, id);
  }

  async #find(statement: keyof typeof ISSUER_SQL, ...args: (string | number | null)[]): Promise<Row[]> {
    const rows = await this.db.run(ISSUER_SQL[statement], args);
    for (const { subject, version } of rows) notePassword(subject, version);
    return rows;
  }

  #run(statement: keyof typeof ISSUER_SQL, argument: string): Promise<Row[]> {
    return this.db.run(ISSUER_SQL[statement], [argument]);
  }
}

/** The user of a record: in an interaction the one that has signed in, before the session knows. */
function userOf({ accountId, result, lastSubmission, session }: AdapterPayload): string | undefined {
  return accountId ?? result?.login?.accountId ?? lastSubmission?.login?.accountId ?? session?.accountId;
}

const hashOf = (userCode: string) => hash('sha256', userCode, 'base64');

/** An expired record has an expiry in the past, whatever the clock of this process says. */
function payloadOf({ payload, consumed, expired }: Row, id: string): AdapterPayload {
  const stored = JSON.parse(String(payload)) as AdapterPayload;
  return {
    ...stored,
    jti: id,
    ...(typeof consumed === 'number' ? { consumed } : {}),
    ...(expired === true ? { exp: 1 } : {}),
  };
}
