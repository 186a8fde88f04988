import type { JwtConfig } from '../../config/jwt.js';
import { scopesOf } from '../../principal.js';
import { objectIn } from './issuer-client.js';

type Claims = Readonly<Record<string, unknown>>;

/**
 * Returns the function that reads a JWT's scopes: the values of the first configured claim that the token has. With a
 * map, only values that it names grant scopes.
 */
export function scopesReader({
  jwtScopesClaims,
  jwtScopesMap,
}: Pick<JwtConfig, 'jwtScopesClaims' | 'jwtScopesMap'>): (claims: Claims) => ReadonlySet<string> {
  return (claims) => {
    const values = scopesOf(firstOf(claims, jwtScopesClaims));
    return jwtScopesMap === undefined
      ? values
      : new Set([...values].flatMap((value) => jwtScopesMap.get(value) ?? []));
  };
}

function firstOf(claims: Claims, paths: readonly string[]): unknown {
  for (const path of paths) {
    const value = claimAt(claims, path);
    if (value !== undefined && value !== null) return value;
  }
  return undefined;
}

/**
 * A claim by its exact name, else a member of the object whose name is the longest start of the path before a dot: names
 * of claims and of clients may have dots themselves.
 */
function claimAt(claims: Claims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  for (let dot = path.lastIndexOf('.'); dot > 0; dot = path.lastIndexOf('.', dot - 1)) {
    const name = path.slice(0, dot);
    const members = Object.hasOwn(claims, name) ? objectIn(claims[name]) : undefined;
    if (members) return claimAt(members, path.slice(dot + 1));
  }
  return undefined;
}
