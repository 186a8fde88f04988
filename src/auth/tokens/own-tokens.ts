import { hash } from 'node:crypto';
import { errors, type JWTPayload, jwtVerify } from 'jose';
import type { Config } from '../../config/config.js';
import { createBatcher } from '../../db/batcher.js';
import type { Db } from '../../db/db.js';
import { readStatements } from '../../db/statements.js';
import type { Log } from '../../telemetry/log.js';
import { sharing } from '../../telemetry/metrics.js';
import { refusal, type Token, TokenCache, type TokenSource } from './access-token.js';
import { requireAccessJwt } from './access-token-claims.js';
import { refusalOf, tokenOf } from './jwt.js';
import { OWN_ALGORITHM, OwnKeys } from './own-keys.js';

const SQL = readStatements('issuer.sql');
const READS = { max: 256, inFlight: 2, waiting: 5000, keyOf: (id: string) => id };

/** Header, claims and signature (RFC 7515 section 7.1). */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** The SHA-256 by which the database knows a record of the authorization server; base64. */
export const recordHash = (model: string, id: string) => hash('sha256', `${model}:${id}`, 'base64');

/** The claim with the id of the grant from which a token was issued. */
export const GRANT_CLAIM = 'grant_id';

/**
 * Verifies access tokens of the embedded authorization server with its keys and records in the database. A verified token
 * is cached while revocations are notified. Rejects with a Refusal, and while the database is away.
 */
export class OwnTokens implements TokenSource {
  readonly #cache = new TokenCache();
  readonly #keys: OwnKeys;
  readonly #isActive: (id: string) => Promise<boolean>;
  #isListening = false;
  /** Called when keys were added. */
  onNewKeys: () => void = () => undefined;
  readonly close: () => Promise<void>;

  constructor(
    readonly config: Config,
    readonly db: Db,
    log: Log,
  ) {
    this.#keys = new OwnKeys(db);
    this.#isActive = createBatcher<string, boolean>(
      { ...READS, sharing: sharing(db.metrics, 'read', 'grants') },
      (ids) => this.#readActive(ids),
    );
    this.close = db.listen('plinth_issuer', {
      onMessage: (subject) => {
        this.#cache.clear();
        if (subject !== 'keys') return;
        this.#keys.forget();
        this.onNewKeys();
      },
      onOpen: () => {
        // Notifications may have been missed before.
        this.#cache.clear();
        this.#isListening = true;
      },
      onLost: (err) => {
        this.#cache.clear();
        if (this.#isListening) log.warn({ err }, 'revocations are not notified: each token is verified anew');
        this.#isListening = false;
      },
    });
  }

  cached(text: string): Token | undefined {
    return this.#isListening ? this.#cache.get(text) : undefined;
  }

  verify(text: string): Promise<Token> {
    const verifyNew = () => (JWT.test(text) ? this.#verifyJwt(text) : this.#verifyOpaque(text));
    return this.config.jwtOnce || !this.#isListening ? verifyNew() : this.#cache.add(text, verifyNew);
  }

  /** The claims of a valid JWT. Rejects with a Refusal. */
  async claimsOf(text: string): Promise<JWTPayload> {
    const { config } = this;
    const claims = await this.#signedClaims(text, config);
    const { [GRANT_CLAIM]: grant, client_id: client } = claims;
    const source = typeof grant === 'string' ? recordHash('Grant', grant) : `client ${client}`;
    if (!(await this.#isActive(source))) throw refusal('The access token has been revoked.');
    return claims;
  }

  async #verifyJwt(text: string): Promise<Token> {
    return tokenOf(await this.claimsOf(text), this.config, Date.now());
  }

  async #signedClaims(text: string, config: Config): Promise<JWTPayload> {
    try {
      const { payload, protectedHeader } = await jwtVerify(text, ({ kid }) => this.#keys.find(kid), {
        algorithms: [OWN_ALGORITHM],
        issuer: config.issuer!,
        audience: config.audience!,
        clockTolerance: config.jwtSkewSeconds,
        requiredClaims: ['exp', 'sub', 'client_id'],
      });
      requireAccessJwt(protectedHeader.typ, payload, 'at+jwt');
      return payload;
    } catch (error) {
      throw error instanceof errors.JOSEError ? refusalOf(error) : error;
    }
  }

  async #verifyOpaque(text: string): Promise<Token> {
    const hashes = ['AccessToken', 'ClientCredentials'].map((model) => recordHash(model, text));
    const [row] = await this.db.run(SQL.get('active_token')!, [JSON.stringify(hashes)]);
    if (!row) throw refusal('The access token is unknown, has expired or has been revoked.');
    const { accountId, clientId, scope, aud, exp, jkt, extra } = JSON.parse(String(row.payload));
    if (aud !== this.config.audience) throw refusal('The access token is for another audience.');
    const cnf = jkt === undefined ? {} : { cnf: { jkt } };
    const claims = {
      ...extra,
      sub: accountId ?? clientId,
      client_id: clientId,
      scope,
      exp,
      jti: text,
      ...cnf,
    };
    return tokenOf(claims, this.config, Date.now());
  }

  async #readActive(ids: readonly string[]): Promise<boolean[]> {
    const clients = ids.filter((id) => id.startsWith('client ')).map((id) => id.slice('client '.length));
    const grants = ids.filter((id) => !id.startsWith('client '));
    const rows = await this.db.run(SQL.get('active_grants')!, [
      JSON.stringify(grants),
      JSON.stringify(clients),
    ]);
    const active = new Set(rows.map(({ id }) => id));
    return ids.map((id) => active.has(id.replace(/^client /, '')));
  }
}
