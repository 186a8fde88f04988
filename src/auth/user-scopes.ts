import type { AuthConfig } from '../config/auth-settings.js';
import { AUTH_SQL } from '../db/core-statements.js';
import type { Db, Run } from '../db/db.js';
import { ACCOUNT_DELETION, type CollectionScopes, includes, scopesOf } from './principal.js';

/** The scopes of a user: those of its own account, and those that an operator granted. */
export const userScopes = (granted: unknown): ReadonlySet<string> =>
  new Set(['self', ACCOUNT_DELETION, ...scopesOf(granted)]);

/** Whether a user has a scope only after a second factor: REQUIRE_SECOND_FACTOR names it, or one that it includes. */
export const needsSecondFactor = ({ secondFactorScopes }: AuthConfig, scope: string): boolean =>
  secondFactorScopes.some((each) => scope === 'admin' || includes(new Set([scope]), each));

/** The scopes that a sign-in with one factor has, and those that a second one would add. */
export function withOneFactor(config: AuthConfig, scopes: Iterable<string>) {
  const all = [...scopes];
  const withheld = all.filter((scope) => needsSecondFactor(config, scope));
  return { scopes: new Set(all.filter((scope) => !withheld.includes(scope))), withheld };
}

/** The scopes of a user; `id` undefined: of a caller without an account here. */
export const storedScopes = async (run: Run, id: string | undefined): Promise<ReadonlySet<string>> =>
  userScopes(id === undefined ? '' : (await run(AUTH_SQL.scopes_of_user, [id]))[0]?.scopes);

/** Sets what a user may do beyond `self`, and allow to clients. */
export async function setUserScopes(
  db: Pick<Db, 'run'>,
  id: string,
  scopes: readonly string[],
): Promise<void> {
  await db.run(AUTH_SQL.set_user_scopes, [id, scopes.join(' ')]);
}

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
    ['REQUIRE_SECOND_FACTOR', config.secondFactorScopes],
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
