import type { Account } from 'oidc-provider';
import { scopesOf } from '../../auth/principal.js';
import { needsSecondFactor, userScopes } from '../../auth/user-scopes.js';
import type { Config } from '../../config/config.js';
import type { Db } from '../../db/db.js';
import type { JsonObject } from '../../json.js';
import { parseUuid } from '../../uuid.js';
import { allowedScopes, mayAllow, permittedScopes } from './client-scopes.js';
import { ISSUER_SQL } from './issuer-statements.js';
import { hasTwoFactors, passwordVersionOf } from './sign-in-methods.js';

/** A user with the scopes that its sign-in may have. */
export interface User {
  readonly id: string;
  readonly email: string;
  readonly record: JsonObject;
  /** The scopes that an operator granted, and those of the user's own account. */
  readonly scopes: ReadonlySet<string>;
  /** Undefined: the user has no password. */
  readonly passwordVersion: number | undefined;
  /** Whether the user has an authenticator app. */
  readonly hasTotp: boolean;
  /** Whether the user has a passkey, if only as the second factor. */
  readonly hasPasskey: boolean;
}

export async function findUser(db: Db, id: string): Promise<User | undefined> {
  const uuid = parseUuid(id);
  const [row] = uuid === undefined ? [] : await db.run(ISSUER_SQL.account, [uuid]);
  if (!row) return undefined;
  const record = JSON.parse(String(row.doc)) as JsonObject;
  return {
    id: String(row.id),
    email: String(record.email),
    record,
    scopes: userScopes(row.scopes),
    passwordVersion: passwordVersionOf(row),
    hasTotp: row.has_totp === true,
    hasPasskey: row.has_passkey === true,
  };
}

/** The claims about a user that these scopes grant (OpenID Connect Core section 5.4). */
export function claimsOf({ id, record }: User, scopes: ReadonlySet<string>): JsonObject & { sub: string } {
  const { email = null, name = null, updated_at } = record;
  return {
    sub: id,
    ...(scopes.has('email') ? { email } : {}),
    ...(scopes.has('profile') ? { name, updated_at: Math.floor(Date.parse(String(updated_at)) / 1000) } : {}),
  };
}

/** A user as oidc-provider reads it. */
export interface UserAccount extends Account {
  readonly user: User;
  /** The scopes of a list that the user may still allow to a client, after a sign-in by these methods. */
  readonly allowed: (scope: unknown, amr: string[] | undefined) => string;
}

/**
 * A user as oidc-provider reads it; undefined if the user has been deleted. `source`: a code or a refresh token, which ends with the first
 * second factor that is added after its sign-in, and with the last one that is removed, also if it was stored meanwhile.
 */
export async function findAccount(
  config: Config,
  db: Db,
  id: string,
  source?: { readonly amr?: string[] | undefined },
): Promise<UserAccount | undefined> {
  const user = await findUser(db, id);
  const amr = source?.amr;
  const isEnded = hasTwoFactors(amr) ? !user?.hasTotp && !user?.hasPasskey : amr && user?.hasTotp;
  if (!user || isEnded) return undefined;
  return {
    accountId: user.id,
    user,
    claims: async (_use, scope) => claimsOf(user, scopesOf(scope)),
    allowed: (scope, amr) => {
      const isEnough = (each: string) => hasTwoFactors(amr) || !needsSecondFactor(config, each);
      return permittedScopes(allowedScopes(user.scopes, scope), isEnough);
    },
  };
}

/**
 * Whether a sign-in by these methods is not enough: the user has an authenticator app, or would use scopes that need a second
 * factor.
 */
export function lacksSecondFactor(
  config: Config,
  user: User,
  amr: readonly string[] | undefined,
  scopes: Iterable<string>,
): boolean {
  const isWithheld = (scope: string) => needsSecondFactor(config, scope) && mayAllow(user.scopes, scope);
  return !hasTwoFactors(amr) && (user.hasTotp || [...scopes].some(isWithheld));
}
