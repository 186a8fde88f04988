import { errors, type JWSAlgorithm, jwtVerify } from 'jose';
import type { Config } from '../../config/config.js';
import type { Log } from '../../telemetry/log.js';
import {
  refusalOf,
  requireAccessJwt,
  type Token,
  TokenCache,
  type TokenSource,
  tokenOf,
  type UserOfToken,
} from './access-token.js';
import { IssuerKeys } from './jwks.js';

/** Verifies JWTs of the issuer (RFC 9068). Those that are accepted once are not cached. */
export class JwtSource implements TokenSource {
  readonly #cache = new TokenCache();
  readonly #keys: IssuerKeys;

  constructor(
    readonly config: Config,
    readonly issuer: string,
    readonly log: Log,
    timeoutMs: number,
    /** Undefined: the subject is the id of a user. */
    readonly userOf?: UserOfToken,
  ) {
    const source = { issuer, jwksUri: config.jwksUri };
    this.#keys = new IssuerKeys(source, log, timeoutMs, () => this.#cache.clear());
  }

  cached(text: string): Token | undefined {
    this.#keys.refresh();
    return this.#cache.get(text);
  }

  verify(text: string): Promise<Token> {
    const verifyNew = () => this.#verifyNew(text);
    return this.config.jwtOnce ? verifyNew() : this.#cache.add(text, verifyNew);
  }

  close(): void {
    this.#keys.close();
  }

  /** The signature is verified first. */
  async #verifyNew(text: string): Promise<Token> {
    const { config } = this;
    try {
      const { payload, protectedHeader } = await jwtVerify(text, (...args) => this.#keys.find(...args), {
        algorithms: config.jwtAlgorithms as JWSAlgorithm[],
        issuer: config.issuer!,
        audience: config.audience!,
        clockTolerance: config.jwtSkewSeconds,
        currentDate: new Date(Date.now()),
        requiredClaims: ['exp', 'sub'],
      });
      requireAccessJwt(protectedHeader.typ, payload, config.jwtType);
      const token = tokenOf(payload, config);
      return this.userOf ? await this.userOf(this.issuer, token, payload, text) : token;
    } catch (error) {
      throw error instanceof errors.JOSEError ? refusalOf(error) : error;
    }
  }
}
