import type { JwtType } from '../../config/jwt.js';
import { refusal } from './access-token.js';

type Claims = Readonly<Record<string, unknown>>;

/**
 * Throws a Refusal unless a JWT's `typ` and claims are those of an access token (RFC 9068 section 4, RFC 8725 sections
 * 3.11 and 3.12). Only `at+jwt` says so by itself: any other accepted `typ` needs a claim that ID tokens do not have.
 */
export function requireAccessJwt(typ: unknown, claims: Claims, configured: JwtType): void {
  requireAccessClaims(claims);
  if (typ !== undefined && typeof typ !== 'string') throw notAccessToken();
  const isExplicit = typ !== undefined && ACCESS_TOKEN_TYPE.test(typ);
  const isAcceptedType = isExplicit || (configured === 'JWT' && (typ === undefined || JWT_TYPE.test(typ)));
  if (!isAcceptedType || !(isExplicit || hasAccessClaim(claims))) throw notAccessToken();
}

/** Throws a Refusal when claims or an introspection response are those of another kind of token. */
export function requireAccessClaims(claims: Claims): void {
  const { token_use: use, typ } = claims;
  const isOther =
    OTHER_TOKEN_CLAIMS.some((claim) => claims[claim] !== undefined) ||
    !(use === undefined || ACCESS_USES.includes(use)) ||
    !(typ === undefined || (typeof typ === 'string' && ACCESS_TYPE_CLAIM.test(typ)));
  if (isOther) throw notAccessToken();
}

const notAccessToken = () => refusal('The token is not an access token.');

const ACCESS_TOKEN_TYPE = /^(?:application\/)?at\+jwt$/i;
const JWT_TYPE = /^(?:application\/)?jwt$/i;

/** ID tokens (OpenID Connect Core), security event and logout tokens (RFC 8417), introspection responses (RFC 9701). */
const OTHER_TOKEN_CLAIMS = ['nonce', 'at_hash', 'c_hash', 's_hash', 'events', 'token_introspection'];

/** `token_use` of Amazon Cognito: `access` or `id`; of authorization servers that introspect refresh tokens too. */
const ACCESS_USES: readonly unknown[] = ['access', 'access_token'];

/** The claim `typ` of Keycloak: `Bearer`, or `ID`, `Refresh`, `Offline`, `Logout`. `JWT` does not exclude anything. */
const ACCESS_TYPE_CLAIM = /^(?:bearer|access|access_token|at\+jwt|jwt)$/i;

function hasAccessClaim(claims: Claims): boolean {
  const { token_use: use, typ } = claims;
  if (use !== undefined || (typeof typ === 'string' && !JWT_TYPE.test(typ))) return true;
  return ACCESS_CLAIMS.some((claim) => claims[claim] !== undefined && claims[claim] !== null);
}

/**
 * RFC 9068 section 2.2 (`scope`, `client_id`), Entra ID (`scp`, `azpacr`, `appidacr`), Auth0 (`gty`, `permissions`), Okta
 * (`scp`, `cid`). `azp`, `roles` and `groups` are in ID tokens too.
 */
const ACCESS_CLAIMS = [
  'scope',
  'scp',
  'client_id',
  'azpacr',
  'appidacr',
  'gty',
  'permissions',
  'cid',
] as const;
