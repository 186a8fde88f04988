import type { Principal } from '../../auth/principal.js';
import type { Run } from '../../db/db.js';
import { accessDenied } from '../../errors/record-errors.js';
import { badRequest } from '../../errors/request-errors.js';
import type { ScopedCollection } from '../../feature.js';
import { parseUuid } from '../../uuid.js';
import type { CreationTask } from './job-task.js';

/** Credentials that remain valid when the user of their subject is deleted, unless they have the scope `self`. */
const INDEPENDENT: readonly Principal['scheme'][] = ['api-key', 'mtls', 'signature', 'none'];

/** The collection with the user on which the credential of a request depends; no member: it depends on none. */
export async function userOf(
  collections: readonly ScopedCollection[],
  { scheme, subject, scopes }: Principal,
): Promise<Pick<CreationTask, 'userCollection'>> {
  const id = parseUuid(subject);
  if (id === undefined || (INDEPENDENT.includes(scheme) && !scopes.has('self'))) return {};
  for (const { resource, whole } of collections)
    if (resource.owner && (await whole.exists(id))) return { userCollection: resource.name };
  return {};
}

/** Throws 403 if the user whose job this is was deleted. */
export async function requireUser(
  collections: readonly ScopedCollection[],
  { subject, userCollection }: Pick<CreationTask, 'subject' | 'userCollection'>,
  run: Run,
): Promise<void> {
  if (userCollection === undefined) return;
  const callers = collections.find(({ resource }) => resource.name === userCollection);
  if (!(await callers?.whole.exists(parseUuid(subject)!, run)))
    throw accessDenied('The user whose job this is was deleted.');
}

/**
 * Throws 400 if rules name claims, which a job does not have. The rules of the collection, and of those to which its records refer,
 * decide about the records that a job creates.
 */
export function requireNoClaims({ resource }: ScopedCollection, all: readonly ScopedCollection[]): void {
  const names = [resource.name, ...resource.references.map(({ to }) => to)];
  for (const { resource } of all)
    if (names.includes(resource.name) && JSON.stringify(resource.grants).includes('"$claims.'))
      throw badRequest(`Access rules of ${resource.name} name claims of a token. A job has none.`);
}
