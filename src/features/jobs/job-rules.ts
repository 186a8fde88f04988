import type { Guarded } from '../../access/guarded-collection.js';
import { grantsFor, readsAll } from '../../access/rules.js';
import { badRequest, notFound } from '../../errors/request-errors.js';
import type { Permission, Principal } from '../../principal.js';

/** The outcome of an export. */
export interface ExportOutcome {
  readonly bytes: number;
  /** The grants by which the job has read; absent: the collection had no access rules. */
  readonly grants?: readonly string[] | undefined;
  /** The number of rows that name its records; absent: its principal has read everything. */
  readonly rows?: number | undefined;
}

export const collectionGone = (name: string) =>
  notFound.variant({ message: `There is no collection ${name} any more.` });

/** Throws 400 if access rules of one of these collections name claims, which a job does not have. */
export function requireNoClaims(...collections: readonly Guarded[]): void {
  for (const { resource } of collections)
    if (JSON.stringify(resource.grants).includes('"$claims.'))
      throw badRequest(`Access rules of ${resource.name} name claims of a token. A job has none.`);
}

/** Throws as requireNoClaims for a collection whose records a job creates, and those to which these refer. */
export function requireCreatable(collection: Guarded, all: readonly Guarded[]): void {
  const { references } = collection.resource;
  requireNoClaims(
    collection,
    ...all.filter(({ resource }) => references.some(({ to }) => to === resource.name)),
  );
}

/** The grants by which a caller reads a collection; undefined: it has no access rules. */
export const readingGrants = (
  { ruled, resource }: Guarded,
  principal: Principal,
): readonly string[] | undefined =>
  ruled && grantsFor(resource, 'read', resource, principal).map((grant) => JSON.stringify(grant));

/**
 * Whether a caller may download what an export has read: all its grants must still be those of the caller. No scope is above
 * access rules, so that these permit a result to its principal alone.
 */
export function mayDownload(
  collection: Guarded,
  principal: Principal,
  job: ExportOutcome & { readonly permission: Permission; readonly isOwn: boolean },
): boolean {
  const present = readingGrants(collection, principal);
  if (present) return job.isOwn && (job.grants?.every((grant) => present.includes(grant)) ?? false);
  const isOfOwn = job.permission === 'own' && principal.scopes.has('self');
  return isOfOwn || readsAll(collection.resource, principal);
}
