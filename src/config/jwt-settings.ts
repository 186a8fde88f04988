import type { Reader } from './env-reader.js';
import { parseJson, parseNames } from './parsers.js';

export type JwtConfig = Readonly<ReturnType<typeof readJwtConfig>>;
export type JwtType = JwtConfig['jwtType'];

const MAX_CLAIMS = 8;
const MAX_CHARACTERS = 256;
const MAX_ENTRIES = 200;
const MAX_SCOPES_PER_ENTRY = 50;

/** RFC 6749 section 3.3. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/;

/** Reads the form of the issuer's access tokens, for issuers that do not follow RFC 9068. */
export function readJwtConfig({ read, optional, oneOf }: Reader) {
  return {
    /** `JWT`: the issuer writes `typ: JWT` on access tokens, or no `typ`. */
    jwtType: oneOf('JWT_TYP', ['at+jwt', 'JWT']),
    /** Claims with the scopes, by name or path; the first that a token has applies. */
    jwtScopesClaims: read<readonly string[]>(
      'JWT_SCOPES_CLAIM',
      ['scope', 'scp'],
      `up to ${MAX_CLAIMS} names or paths of claims, each of up to ${MAX_CHARACTERS} characters`,
      (text) => {
        const names = parseNames(text);
        const isValid = names.length >= 1 && names.length <= MAX_CLAIMS;
        return isValid && names.every((name) => name.length <= MAX_CHARACTERS) ? names : undefined;
      },
    ),
    /** The scopes that each value of that claim grants; undefined: the values are the scopes. */
    jwtScopesMap: optional<ReadonlyMap<string, readonly string[]>>(
      'JWT_SCOPES_MAP',
      `a JSON object of 1 to ${MAX_ENTRIES} names, each with an array of scopes: {"Reader": ["items:read"]}`,
      parseScopesMap,
    ),
  };
}

function parseScopesMap(text: string): ReadonlyMap<string, readonly string[]> | undefined {
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const entries = Object.entries(value);
  const isValid =
    entries.length >= 1 &&
    entries.length <= MAX_ENTRIES &&
    entries.every(([name, scopes]) => name !== '' && name.length <= MAX_CHARACTERS && areScopes(scopes));
  return isValid ? new Map(entries as [string, string[]][]) : undefined;
}

function areScopes(value: unknown): boolean {
  if (!Array.isArray(value) || value.length < 1 || value.length > MAX_SCOPES_PER_ENTRY) return false;
  return value.every((scope) => typeof scope === 'string' && SCOPE.test(scope));
}
