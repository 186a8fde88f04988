import type { Guarded } from '../../access/guarded-collection.js';
import type { Principal } from '../../auth/principal.js';
import type { Run } from '../../db/db.js';
import { accessDenied } from '../../errors/record-errors.js';
import { parseUuid } from '../../uuid.js';
import type { CreationTask } from './job-task.js';

/** Credentials that remain valid when the user of their subject is deleted, unless they have the scope `self`. */
const INDEPENDENT: readonly Principal['scheme'][] = ['api-key', 'mtls', 'signature', 'none'];

/** The collection with the user on which the credential of a request depends; no member: it depends on none. */
export async function userOf(
  collections: readonly Guarded[],
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
  collections: readonly Guarded[],
  { subject, userCollection }: Pick<CreationTask, 'subject' | 'userCollection'>,
  run: Run,
): Promise<void> {
  if (userCollection === undefined) return;
  const callers = collections.find(({ resource }) => resource.name === userCollection);
  if (!(await callers?.whole.exists(parseUuid(subject)!, run)))
    throw accessDenied('The user whose job this is was deleted.');
}
