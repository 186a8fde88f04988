import { hash } from 'node:crypto';
import type { Adapter, AdapterPayload } from 'oidc-provider';
import { databaseErrorOf, FOREIGN_KEY_VIOLATION } from '../../db/database-errors.js';
import type { Db } from '../../db/db.js';
import { ISSUER_SQL } from './issuer-statements.js';
import { errors, Provider } from './oidc-provider.js';
import { recordHash } from './own-tokens.js';
import { notePassword, seenPassword } from './present-request.js';
import type { IssuerConfig } from './settings.js';
import { isStranger, MAX_STRANGERS } from './strangers.js';

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
    readonly settings: Pick<IssuerConfig, 'refreshReuseSeconds' | 'sessionIdleSeconds'> = NO_SETTINGS,
    readonly admit?: () => Promise<void>,
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
      if (rows.length === 0)
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
    return this.#read(ISSUER_SQL.find_record, [hash, this.#againS], id);
  }

  /** A refresh by a token that ends with a session is a use of the session. */
  findByUid(uid: string): Promise<AdapterPayload | undefined> {
    return this.#read(ISSUER_SQL.find_other, [uid, null]);
  }

  async findByUserCode(userCode: string): Promise<AdapterPayload | undefined> {
    const found = await this.#read(ISSUER_SQL.find_other, [null, hashOf(userCode)]);
    return found && { ...found, userCode };
  }

  /** Reads a record, and lets the session of a user continue. */
  async #read(
    statement: string,
    args: (string | number | null)[],
    id?: string,
  ): Promise<AdapterPayload | undefined> {
    const [row] = await this.db.run(statement, args);
    if (!row) return undefined;
    const { hash, subject, version, payload, consumed, expired } = row;
    notePassword(subject, version);
    if (this.#isSession(subject))
      await this.db.run(ISSUER_SQL.use_session, [String(hash), this.settings.sessionIdleSeconds]);
    return {
      ...(JSON.parse(String(payload)) as AdapterPayload),
      jti: id ?? HANDLE + hash,
      ...(typeof consumed === 'number' && { consumed }),
      // An expiry in the past, whatever the clock of this process says.
      ...(expired === true && { exp: 1 }),
    };
  }

  /**
   * Of concurrent calls one returns; the others revoke the grant and throw invalid_grant (RFC 9700 section 4.14.2). Those for
   * a refresh token within the period of reuse return, too.
   */
  async consume(id: string): Promise<void> {
    const rows = await this.db.run(ISSUER_SQL.consume_record, [this.#hashOf(id), this.#againS]);
    if (rows.length > 0) return;
    await this.db.run(ISSUER_SQL.revoke_family, [this.#hashOf(id)]);
    throw new errors.InvalidGrant(`${this.model} already used`);
  }

  async destroy(id: string): Promise<void> {
    await this.db.run(ISSUER_SQL.delete_record, [this.#hashOf(id)]);
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    await this.db.run(ISSUER_SQL.delete_of_grant, [recordHash('Grant', grantId), this.model]);
  }

  /** The steps of a sign-in that has begun are admitted. */
  async #admitStranger(hash: string): Promise<void> {
    if ((await this.db.run(ISSUER_SQL.has_record, [hash])).length > 0) return;
    await this.admit?.();
    await this.db.run(ISSUER_SQL.make_room, [MAX_STRANGERS, EVICTED]);
  }

  get #againS(): number {
    return this.model === 'RefreshToken' ? this.settings.refreshReuseSeconds : 0;
  }

  #isSession(userId: unknown): boolean {
    return this.model === 'Session' && typeof userId === 'string';
  }

  /** Ids of records that exist come from `find`, never from a request as they are. */
  #hashOf(id: string): string {
    return id.startsWith(HANDLE) ? id.slice(1) : recordHash(this.model, id);
  }
}

/** The user of a record: in an interaction the one that has signed in, before the session knows. */
function userOf({ accountId, result, lastSubmission, session }: AdapterPayload): string | undefined {
  return accountId ?? result?.login?.accountId ?? lastSubmission?.login?.accountId ?? session?.accountId;
}

const hashOf = (userCode: string) => hash('sha256', userCode, 'base64');
