import { hash } from 'node:crypto';
import { errors, type JWTPayload, jwtVerify } from 'jose';
import { readCookie, SESSION_COOKIE } from '../../auth/cookies.js';
import { type Principal, scopesOf } from '../../auth/principal.js';
import {
  ended,
  refusal,
  refusalOf,
  requireAccessJwt,
  type Token,
  TokenCache,
  type TokenSource,
  tokenOf,
} from '../../auth/tokens/access-token.js';
import { userScopes, withOneFactor } from '../../auth/user-scopes.js';
import type { Config } from '../../config/config.js';
import { usesHttps } from '../../config/parsers.js';
import { createBatcher } from '../../db/batcher.js';
import type { Db, Row } from '../../db/db.js';
import type { Auth } from '../../feature.js';
import { sharing } from '../../telemetry/instruments.js';
import type { Log } from '../../telemetry/log.js';
import { allowedScopes, isClaimScope, permittedScopes, withImplied } from './client-scopes.js';
import { ISSUER_SQL } from './issuer-statements.js';
import { OWN_ALGORITHM, ownKeys } from './own-keys.js';
import { ISSUER_SETTINGS } from './settings.js';
import { hasTwoFactors, passwordVersionOf } from './sign-in-methods.js';

const READS = { max: 256, inFlight: 2, waiting: 5000, keyOf: (id: string) => id };

/** Header, claims and signature (RFC 7515 section 7.1). */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** The SHA-256 by which the database knows a record of the authorization server; base64. */
export const recordHash = (model: string, id: string) => hash('sha256', `${model}:${id}`, 'base64');

/** The model of a record that says that the JWT with this id was revoked. */
export const REVOKED_TOKEN = 'RevokedToken';

/** The name of the scopes of this API in a client's metadata. */
export const API_SCOPES = 'plinth_scopes';

/** The grant of a user, or the client, from which a token was issued. */
interface Source {
  readonly isOfUser: boolean;
  /** The scopes that an operator granted to the user. */
  readonly scopes: unknown;
  /** The version of the user's password; undefined for a client. */
  readonly passwordVersion: number | undefined;
  /** The scopes that the client may request. */
  readonly clientScopes: ReadonlySet<string>;
}

/** The claim with the id of the grant from which a token was issued. */
export const GRANT_CLAIM = 'grant_id';

/**
 * Verifies access tokens of the embedded authorization server with its keys and records in the database. A verified token
 * is cached while revocations are notified. Rejects with CredentialRejected, and while the database is away.
 */
export class OwnTokens implements TokenSource {
  readonly #cache = new TokenCache();
  #keys: ReturnType<typeof ownKeys>;
  readonly #sourceOf: (id: string) => Promise<Source | undefined>;
  #isListening = false;
  /** Called when keys were added. */
  onNewKeys: () => void = () => undefined;
  readonly close: () => Promise<void>;

  constructor(
    readonly config: Config,
    readonly db: Db,
    log: Log,
  ) {
    this.#keys = ownKeys(db);
    this.#sourceOf = createBatcher<string, Source | undefined>(
      { ...READS, sharing: sharing(db.metrics, 'read', 'grants') },
      (ids) => this.#readSources(ids),
    );
    this.close = db.listen('plinth_issuer', {
      onMessage: (subject) => {
        this.#cache.clear();
        if (subject !== 'keys') return;
        this.#keys = ownKeys(db);
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
    const verifyNew = () => this.#verify(text);
    return this.config.jwtOnce || !this.#isListening ? verifyNew() : this.#cache.add(text, verifyNew);
  }

  async #verify(text: string): Promise<Token> {
    const { claims, source } = await this.#read(text);
    const token = tokenOf(claims, this.config);
    // A user whose id is that of the client is no client.
    const subject = source.isOfUser ? claims.sub! : token.principal.subject;
    const { passwordVersion } = source;
    return { ...token, principal: { ...token.principal, subject, passwordVersion } };
  }

  /** The claims of a valid token, with the scopes that its user may still allow. Rejects with CredentialRejected. */
  async claimsOf(text: string): Promise<JWTPayload> {
    return (await this.#read(text)).claims;
  }

  async #read(text: string): Promise<{ claims: JWTPayload; source: Source }> {
    const claims = await (JWT.test(text) ? this.#signedClaims(text) : this.#storedClaims(text));
    const { [GRANT_CLAIM]: grant, client_id: client, jti } = claims;
    const sourceId = typeof grant === 'string' ? recordHash('Grant', grant) : CLIENT + client;
    const source = await this.#sourceOf(`${sourceId}\n${recordHash(REVOKED_TOKEN, jti!)}`);
    if (!source) throw ended('The access token has been revoked.');
    return { claims: { ...claims, ...scopeOf(source, claims.scope) }, source };
  }

  async #signedClaims(text: string): Promise<JWTPayload> {
    const { config } = this;
    try {
      const { payload, protectedHeader } = await jwtVerify(text, this.#keys, {
        algorithms: [OWN_ALGORITHM],
        issuer: config.issuer!,
        audience: config.audience!,
        clockTolerance: config.jwtSkewSeconds,
        requiredClaims: ['exp', 'sub', 'client_id', 'jti'],
      });
      requireAccessJwt(protectedHeader.typ, payload, 'at+jwt');
      return payload;
    } catch (error) {
      throw error instanceof errors.JOSEError ? refusalOf(error) : error;
    }
  }

  async #storedClaims(text: string): Promise<JWTPayload> {
    const hashes = ['AccessToken', 'ClientCredentials'].map((model) => recordHash(model, text));
    const [row] = await this.db.run(ISSUER_SQL.stored_token, [JSON.stringify(hashes)]);
    if (!row) throw refusal(ENDED);
    if (row.expired === true) throw ended(ENDED);
    const { accountId, clientId, grantId, scope, aud, exp, jkt, extra } = JSON.parse(String(row.payload));
    if (aud !== this.config.audience) throw refusal('The access token is for another audience.');
    const own = { sub: accountId ?? clientId, client_id: clientId, [GRANT_CLAIM]: grantId };
    return { ...extra, ...own, scope, exp, jti: text, ...(jkt !== undefined && { cnf: { jkt } }) };
  }

  /** Each id is that of a source, and after a line break the hash by which the database knows the revoked token. */
  async #readSources(ids: readonly string[]): Promise<(Source | undefined)[]> {
    const pairs = ids.map((id) => id.split('\n') as [source: string, token: string]);
    const named = pairs.map(([source]) => source);
    const clients = named.filter((id) => id.startsWith(CLIENT)).map((id) => id.slice(CLIENT.length));
    const grants = named.filter((id) => !id.startsWith(CLIENT));
    const rows = await this.db.run(ISSUER_SQL.active_grants, [
      JSON.stringify([...grants, ...pairs.map(([, token]) => token)]),
      JSON.stringify(clients),
    ]);
    const sources = new Map(rows.map((row) => [String(row.id), sourceIn(row)]));
    return pairs.map(([source, token]) =>
      sources.has(token) ? undefined : sources.get(source.replace(CLIENT, '')),
    );
  }
}

/** One text for a token of which it is not known whether it was valid once. */
const ENDED = 'The access token is unknown, has expired or has been revoked.';

/** Begins the id of a source that is a client. */
const CLIENT = 'client ';

function sourceIn(row: Row): Source {
  const { [API_SCOPES]: clientScopes } = JSON.parse(String(row.client)) as Record<string, unknown>;
  return {
    isOfUser: row.is_of_user === true,
    scopes: row.scopes,
    clientScopes: withImplied(scopesOf(clientScopes)),
    passwordVersion: passwordVersionOf(row),
  };
}

/** The scope of a token as far as its client may still request it, and its user allow it; absent without one. */
function scopeOf({ isOfUser, scopes, clientScopes }: Source, scope: unknown): { readonly scope?: unknown } {
  if (scope === undefined) return {};
  const isOfClient = (each: string) =>
    isClaimScope(each) || each === 'offline_access' || clientScopes.has(each);
  const ofClient = permittedScopes(scope, isOfClient);
  return { scope: isOfUser ? allowedScopes(userScopes(scopes), ofClient) : ofClient };
}

const SESSION_ID = /^[\w-]{16,64}$/;

/**
 * Sessions of the authorization server as principals of pages, with the scope `self` and those that an operator granted.
 * The database knows only a hash of the secret. After a password alone, a user with an authenticator app is not signed in yet,
 * and others lack the scopes that need a second factor.
 */
export function browserSessions(db: Db, config: Config): NonNullable<Auth['session']> {
  const { sessionIdleSeconds: idle } = ISSUER_SETTINGS.of(config);
  const find = async (hash: string): Promise<Principal | undefined> => {
    const [row] = await db.run(ISSUER_SQL.browser_session, [hash, idle]);
    if (!row) return undefined;
    if (row.is_older === true) await db.run(ISSUER_SQL.use_session, [hash, idle]);
    const { loginTs, amr } = JSON.parse(String(row.payload)) as { loginTs?: number; amr?: string[] };
    const isComplete = hasTwoFactors(amr);
    if (row.has_totp === true && !isComplete) return undefined;
    const scopes = new Set(['self', ...scopesOf(row.scopes)]);
    return {
      subject: String(row.id),
      ...(isComplete ? { scopes } : withOneFactor(config, scopes)),
      scheme: 'session',
      expiresAt: Number(row.expires),
      signedInAt: loginTs,
      passwordVersion: passwordVersionOf(row),
    };
  };
  return (cookie) => {
    const id = readCookie(cookie, SESSION_COOKIE, usesHttps(config));
    return id !== undefined && SESSION_ID.test(id) ? find(recordHash('Session', id)) : undefined;
  };
}
