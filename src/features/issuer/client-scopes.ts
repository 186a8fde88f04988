import { includes, scopesOf } from '../../auth/principal.js';

/** Scopes of OpenID Connect, with the claims from a user's record that each grants. */
export const CLAIMS: Readonly<Record<string, readonly string[]>> = {
  openid: ['sub'],
  email: ['email'],
  profile: ['name', 'updated_at'],
};

/** Whether a scope is one of OpenID Connect, which grants claims. */
export const isClaimScope = (scope: string): boolean => Object.hasOwn(CLAIMS, scope);

/** Whether a user with these scopes may allow a scope to a client. */
export function mayAllow(scopes: ReadonlySet<string>, scope: string): boolean {
  return isClaimScope(scope) || scopes.has('admin') || includes(scopes, scope);
}

/** Scopes with the ones that they imply: a scope that permits writing implies the one that permits reading. */
export function withImplied(scopes: Iterable<string>): ReadonlySet<string> {
  const named = [...scopes];
  const implied = named
    .filter((scope) => scope.endsWith(':write'))
    .map((scope) => scope.replace(/write$/, 'read'));
  return new Set([...named, ...implied]);
}

/** The scopes of a list that are permitted, and of each other one those that it implies. */
export function permittedScopes(list: unknown, isPermitted: (scope: string) => boolean): string {
  const permitted = [...scopesOf(list)].flatMap((scope) =>
    isPermitted(scope) ? scope : [...withImplied([scope])].filter(isPermitted),
  );
  return [...new Set(permitted)].join(' ');
}

/** The scopes of a list that a user with `scopes` may allow. */
export const allowedScopes = (scopes: ReadonlySet<string>, list: unknown): string =>
  permittedScopes(list, (scope) => scope === 'offline_access' || mayAllow(scopes, scope));
