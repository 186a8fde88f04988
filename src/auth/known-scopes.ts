import type { AuthConfig } from '../config/auth-settings.js';
import { ACCOUNT_DELETION, type CollectionScopes } from './principal.js';

interface ScopedCollection {
  readonly scopes: CollectionScopes;
  readonly grants: readonly { readonly scope?: string }[];
}

/** The scopes that credentials may have: two for each collection, those that its grants name, and those of the service. */
export function knownScopes(resources: readonly ScopedCollection[]): readonly string[] {
  const ofCollections = resources.flatMap(({ scopes, grants }) => [
    scopes.read,
    scopes.write,
    ...grants.flatMap(({ scope }) => scope ?? []),
  ]);
  return [...new Set([...ofCollections, 'events:read', 'self', ACCOUNT_DELETION, 'admin'])];
}

/** The fault of a scope; undefined: it is known. */
export function scopeFault(scope: string, known: readonly string[]): string | undefined {
  return known.includes(scope) ? undefined : `\`${scope}\` is not a scope: there are ${known.join(', ')}`;
}

/** The scopes in settings that do not exist, one line each. */
export function scopeSettingFaults(config: AuthConfig, known: readonly string[]): string[] {
  const named: [setting: string, scopes: readonly string[]][] = [
    ['BASIC_SCOPES', config.basicScopes],
    ...config.signingSecrets.map(({ scopes }): [string, readonly string[]] => ['SIGNING_SECRETS', scopes]),
    ...[...(config.jwtScopesMap?.values() ?? [])].map((scopes): [string, readonly string[]] => [
      'JWT_SCOPES_MAP',
      scopes,
    ]),
  ];
  const faults = named.flatMap(([setting, scopes]) =>
    scopes.flatMap((scope) => {
      const fault = scopeFault(scope, known);
      return fault === undefined ? [] : [`${setting}: ${fault}`];
    }),
  );
  return [...new Set(faults)];
}
