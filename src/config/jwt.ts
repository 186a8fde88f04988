import type { Reader } from './env-reader.js';
import { parseNames } from './parsers.js';

export type JwtType = 'at+jwt' | 'JWT';

/** What the issuer's access tokens look like. */
export interface JwtConfig {
  /** `JWT`: the issuer writes `typ: JWT` on access tokens, or none. */
  readonly jwtType: JwtType;
  /** Claims that have the scopes, by name or path; the first that a token has applies. */
  readonly jwtScopesClaims: readonly string[];
  /** The scopes that each value of that claim grants; undefined: the values are the scopes. */
  readonly jwtScopesMap: ReadonlyMap<string, readonly string[]> | undefined;
}

/** Reads the settings for issuers that do not follow RFC 9068. */
export function readJwtConfig({ read }: Reader): JwtConfig {
  return {
    jwtType: read<JwtType>('JWT_TYP', 'at+jwt', '`at+jwt` or `JWT`', (text) =>
      text === 'at+jwt' || text === 'JWT' ? text : undefined,
    ),
    jwtScopesClaims: read<readonly string[]>(
      'JWT_SCOPES_CLAIM',
      ['scope', 'scp'],
      `up to ${MAX_CLAIMS} names or paths of claims, each of up to ${MAX_CHARACTERS} characters`,
      (text) => {
        const names = parseNames(text);
        const fits = names.length >= 1 && names.length <= MAX_CLAIMS;
        return fits && names.every((name) => name.length <= MAX_CHARACTERS) ? names : undefined;
      },
    ),
    jwtScopesMap: read<ReadonlyMap<string, readonly string[]> | undefined>(
      'JWT_SCOPES_MAP',
      undefined,
      `a JSON object of 1 to ${MAX_ENTRIES} names, each with an array of scopes: {"Reader": ["items:read"]}`,
      parseScopesMap,
    ),
  };
}

const MAX_CLAIMS = 8;
const MAX_CHARACTERS = 256;
const MAX_ENTRIES = 200;
/** Of one name. */
const MAX_SCOPES = 50;

/** RFC 6749 section 3.3. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/;

function parseScopesMap(text: string): ReadonlyMap<string, readonly string[]> | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const entries = Object.entries(value);
  const fits =
    entries.length >= 1 &&
    entries.length <= MAX_ENTRIES &&
    entries.every(([name, scopes]) => name !== '' && name.length <= MAX_CHARACTERS && areScopes(scopes));
  return fits ? new Map(entries as [string, string[]][]) : undefined;
}

function areScopes(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.length >= 1 &&
    value.length <= MAX_SCOPES &&
    value.every((scope) => typeof scope === 'string' && SCOPE.test(scope))
  );
}
