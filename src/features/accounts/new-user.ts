import { isDeepStrictEqual } from 'node:util';
import type { Principal } from '../../auth/principal.js';
import { userScopes } from '../../auth/user-scopes.js';
import { storedPassword } from '../../collection/password-writes.js';
import type { Run } from '../../db/db.js';
import { fieldsDenied } from '../../errors/caller-errors.js';
import { invalid, invalidBody } from '../../errors/input-errors.js';
import { Problem } from '../../errors/problem.js';
import type { Collection } from '../../feature.js';
import type { JsonObject } from '../../json.js';
import { grantsFor } from '../../policy/policy.js';
import { nextIdentity } from '../../uuid.js';
import { INVITATIONS_SQL } from './accounts-statements.js';
import type { AccountsConfig } from './settings.js';

/**
 * A new user, who is the actor of its creation, and chooses the name, a password, and the declared fields that it may also change
 * afterwards by the scope `self`, except references, since it cannot read their records yet. The returned function creates it in a transaction, and
 * resolves to its id. Throws 400 and 403.
 */
export async function newUser(users: Collection, fields: JsonObject): Promise<(run: Run) => Promise<string>> {
  const { resource } = users;
  const { id } = nextIdentity();
  const own = grantsFor(resource, 'update', resource, principalOf(id)).filter(
    ({ where }) => where === undefined || isDeepStrictEqual(where, { id: '$caller' }),
  );
  const isOpen = (name: string) =>
    Object.hasOwn(resource.schema.properties, name) &&
    !resource.references.some(({ field }) => field === name) &&
    (name === 'name' || own.some((grant) => !grant.fields || grant.fields.includes(name)));
  const denied = Object.keys(fields).filter(
    (name) => name !== 'email' && name !== 'password' && !isOpen(name),
  );
  if (denied.length > 0) throw fieldsDenied(denied);
  const input = users.check(fields, 'request', undefined, id);
  const passwordHash = await storedPassword(input);
  if (passwordHash === undefined) throw invalidBody('must have the property password', 'required');
  return async (run) => {
    await users.createWithId(id, { ...input, passwordHash }, run);
    return id;
  };
}

/** Throws 400 for an address that the declaration of users refuses, before a message is sent to it. */
export function requireAddress(users: Collection, email: string): void {
  try {
    users.check({ email });
  } catch (error) {
    if (!(error instanceof Problem) || !Array.isArray(error.more.details)) throw error;
    const failures = error.more.details.filter(({ path }) => path === '/email');
    if (failures.length > 0) throw invalid(failures);
  }
}

export const isInDomains = ({ signUpDomains }: AccountsConfig, email: string): boolean =>
  signUpDomains.includes(email.slice(email.lastIndexOf('@') + 1));

/** Whether SIGN_UP permits a person with an address to become a user. */
export const maySignUp = async (run: Run, settings: AccountsConfig, email: string): Promise<boolean> =>
  settings.signUp === 'domains'
    ? isInDomains(settings, email)
    : settings.signUp === 'open' || (await run(INVITATIONS_SQL.is_invited, [email])).length > 0;

/** A user as the caller of a request of its own, with the scopes that were granted to it. */
export const principalOf = (subject: string, granted: unknown = ''): Principal => ({
  subject,
  scopes: userScopes(granted),
  scheme: 'session',
  expiresAt: undefined,
});
