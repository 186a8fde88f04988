import { errors, type JWSAlgorithm, type JWTPayload, jwtVerify } from 'jose';
import type { Config } from '../../config/config.js';
import type { Log } from '../../telemetry/log.js';
import type { CredentialRejected } from '../scheme.js';
import { ended, refusal, type Token, TokenCache, type TokenSource } from './access-token.js';
import {
  confirmationIn,
  requireAccessJwt,
  ruleClaims,
  scopesIn,
  secondsIn,
  subjectOf,
} from './access-token-claims.js';
import { IssuerKeys } from './jwks.js';

const CACHE_MS = 5 * 60_000;

/** Verifies JWTs of the issuer (RFC 9068). Those that are accepted once are not cached. */
export class JwtSource implements TokenSource {
  readonly #cache = new TokenCache();
  readonly #keys: IssuerKeys;

  constructor(
    readonly config: Config,
    issuer: string,
    log: Log,
    timeoutMs: number,
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
    const now = Date.now();
    try {
      const { payload, protectedHeader } = await jwtVerify(text, (...args) => this.#keys.find(...args), {
        algorithms: config.jwtAlgorithms as JWSAlgorithm[],
        issuer: config.issuer!,
        audience: config.audience!,
        clockTolerance: config.jwtSkewSeconds,
        currentDate: new Date(now),
        requiredClaims: ['exp', 'sub'],
      });
      requireAccessJwt(protectedHeader.typ, payload, config.jwtType);
      return tokenOf(payload, config, now);
    } catch (error) {
      throw error instanceof errors.JOSEError ? refusalOf(error) : error;
    }
  }
}

/** The token of verified claims. Throws CredentialRejected. */
export function tokenOf(claims: JWTPayload, config: Config, now: number): Token {
  const { jti, cnf, exp } = claims;
  const { issuer, jwtOnce } = config;
  const subject = subjectOf(claims);
  if (jwtOnce && (typeof jti !== 'string' || jti === '')) throw refusal('The access token has no jti.');
  const expiresAt = secondsIn(exp)!;
  return {
    principal: {
      subject,
      scopes: scopesIn(claims, config),
      scheme: 'bearer',
      claims: ruleClaims(claims),
      expiresAt,
    },
    ...confirmationIn(cnf),
    id: jwtOnce ? `jwt\n${issuer}\n${jti}` : undefined,
    cachedUntil: Math.min(expiresAt * 1000, now + CACHE_MS),
  };
}

/** The fault of a token that jose rejects, which verifies the signature before the times. */
export function refusalOf(error: errors.JOSEError): CredentialRejected {
  if (error instanceof errors.JWTExpired) return ended('The access token has expired.');
  if (error instanceof errors.JOSEAlgNotAllowed)
    return refusal('The access token is signed with an unsupported algorithm.');
  if (error instanceof errors.JWTClaimValidationFailed)
    return refusal(CLAIMS[error.claim] ?? 'The access token has a malformed claim.');
  return refusal('The access token is malformed or its signature is invalid.');
}

const CLAIMS: Readonly<Record<string, string>> = {
  iss: 'The access token is from another issuer.',
  aud: 'The access token is for another audience.',
  nbf: 'The access token is not valid yet.',
  exp: 'The access token has no exp.',
  sub: 'The access token has no subject.',
};
