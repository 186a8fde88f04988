import { errors, type JWSAlgorithm, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import type { Config } from '../../config/config.js';
import type { Refusal } from '../scheme.js';
import { certificateIn, refusal, secondsIn, type Token } from './access-token.js';
import { requireAccessJwt } from './token-kind.js';
import { scopesReader } from './token-scopes.js';
import { subjectOf } from './token-subject.js';

export type JwtSettings = Pick<
  Config,
  | 'issuer'
  | 'audience'
  | 'jwtAlgorithms'
  | 'jwtSkewSeconds'
  | 'jwtOnce'
  | 'jwtType'
  | 'jwtScopesClaims'
  | 'jwtScopesMap'
>;

/** How long a token is good without another look at it. */
const GOOD_MS = 5 * 60_000;

/**
 * Verifies access tokens in the form of JWTs (RFC 9068), the signature first. Throws a Refusal, and what `key` does.
 */
export function jwtVerifier(settings: JwtSettings, key: JWTVerifyGetKey) {
  const readScopes = scopesReader(settings);
  return async (text: string): Promise<Token> => {
    const at = Date.now();
    try {
      const { payload, protectedHeader } = await jwtVerify(text, key, {
        algorithms: settings.jwtAlgorithms as JWSAlgorithm[],
        issuer: settings.issuer!,
        audience: settings.audience!,
        clockTolerance: settings.jwtSkewSeconds,
        currentDate: new Date(at),
        requiredClaims: ['exp', 'sub'],
      });
      requireAccessJwt(protectedHeader.typ, payload, settings.jwtType);
      return tokenOf(payload, readScopes(payload), settings, at);
    } catch (error) {
      throw error instanceof errors.JOSEError ? refusalOf(error) : error;
    }
  };
}

function tokenOf(
  claims: JWTPayload,
  scopes: ReadonlySet<string>,
  { issuer, jwtOnce }: JwtSettings,
  at: number,
): Token {
  const { jti, cnf } = claims;
  const subject = subjectOf(claims);
  if (jwtOnce && (typeof jti !== 'string' || jti === '')) throw refusal('The access token has no jti.');
  const expiresAt = secondsIn(claims.exp)!;
  const authenticatedAt = typeof claims.auth_time === 'number' ? claims.auth_time : undefined;
  return {
    principal: { subject, scopes, scheme: 'bearer', expiresAt, authenticatedAt },
    certificate: certificateIn(cnf),
    id: jwtOnce ? `jwt\n${issuer}\n${jti}` : undefined,
    goodUntil: Math.min(expiresAt * 1000, at + GOOD_MS),
  };
}

function refusalOf(error: errors.JOSEError): Refusal {
  if (error instanceof errors.JWTExpired) return refusal('The access token has expired.');
  if (error instanceof errors.JOSEAlgNotAllowed)
    return refusal('The access token is signed with an algorithm that is not taken.');
  if (error instanceof errors.JWTClaimValidationFailed)
    return refusal(CLAIMS[error.claim] ?? 'The access token has a claim that is malformed.');
  return refusal('The access token is malformed, or its signature does not fit.');
}

const CLAIMS: Readonly<Record<string, string>> = {
  iss: 'The access token is of another issuer.',
  aud: 'The access token is for another audience.',
  nbf: 'The access token is not good yet.',
  exp: 'The access token has no time at which it expires.',
  sub: 'The access token has no subject.',
};
