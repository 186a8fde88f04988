import {
  type CompactJWSHeaderParameters,
  errors,
  type JWSAlgorithm,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from 'jose';
import type { Config } from '../config.js';
import { scopesOf } from '../principal.js';
import type { Refusal } from './scheme.js';
import { certificateIn, refusal, secondsIn, type Token } from './token.js';

export type JwtSettings = Pick<
  Config,
  'issuer' | 'audience' | 'jwtAlgorithms' | 'jwtSkewSeconds' | 'jwtOnce'
>;

/** How long a token is good without another look at it. */
const GOOD_MS = 5 * 60_000;

/**
 * Verifies access tokens in the form of JWTs (RFC 9068), the signature first. Throws a Refusal, and what `key` does.
 */
export function jwtVerifier(settings: JwtSettings, key: JWTVerifyGetKey, now: () => number) {
  return async (text: string): Promise<Token> => {
    const at = now();
    try {
      const { payload, protectedHeader } = await jwtVerify(text, key, {
        algorithms: settings.jwtAlgorithms as JWSAlgorithm[],
        issuer: settings.issuer!,
        audience: settings.audience!,
        clockTolerance: settings.jwtSkewSeconds,
        currentDate: new Date(at),
        requiredClaims: ['exp', 'sub'],
      });
      requireAccessToken(protectedHeader, payload);
      return tokenOf(payload, settings, at);
    } catch (error) {
      throw error instanceof errors.JOSEError ? refusalOf(error) : error;
    }
  };
}

/**
 * RFC 9068 section 4 and RFC 8725 section 3.11: a token that says it is something else is not taken, nor one that
 * does not say what it is and has what an id_token has.
 */
function requireAccessToken({ typ }: CompactJWSHeaderParameters, claims: JWTPayload): void {
  const fits =
    typ === undefined
      ? ID_TOKEN_CLAIMS.every((claim) => claims[claim] === undefined)
      : ACCESS_TOKEN_TYPE.test(typ);
  if (!fits) throw refusal('The token is not an access token.');
}

const ID_TOKEN_CLAIMS = ['nonce', 'at_hash', 'c_hash'];
const ACCESS_TOKEN_TYPE = /^(?:application\/)?at\+jwt$/i;

function tokenOf(claims: JWTPayload, { issuer, jwtOnce }: JwtSettings, at: number): Token {
  const { sub, jti, scope, scp, cnf } = claims;
  if (typeof sub !== 'string' || sub === '') throw refusal('The access token has no subject.');
  if (jwtOnce && (typeof jti !== 'string' || jti === '')) throw refusal('The access token has no jti.');
  const expiresAt = secondsIn(claims.exp)!;
  const authenticatedAt = typeof claims.auth_time === 'number' ? claims.auth_time : undefined;
  return {
    principal: { subject: sub, scopes: scopesOf(scope ?? scp), scheme: 'bearer', expiresAt, authenticatedAt },
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
