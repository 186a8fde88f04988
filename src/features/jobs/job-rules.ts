import type { Guarded } from '../../access/guarded-collection.js';
import { grantsFor, readsAll } from '../../access/rules.js';
import type { Resource } from '../../collection/resource.js';
import { badRequest, notFound } from '../../errors/request-errors.js';
import type { Condition } from '../../list/condition.js';
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
export function requireNoClaims(resources: readonly Resource[]): void {
  for (const { name, grants } of resources)
    if (JSON.stringify(grants).includes('"$claims.'))
      throw badRequest(`Access rules of ${name} name claims of a token. A job has none.`);
}

/** The collections whose rules decide about the records that a job creates: theirs, and those to which the records refer. */
export const creationResources = ({ resource }: Guarded, all: readonly Guarded[]): readonly Resource[] => [
  resource,
  ...all.map((each) => each.resource).filter(({ name }) => resource.references.some(({ to }) => to === name)),
];

/** The collections to which conditions lead. A job without the claims of their rules would find other records than the request. */
export const relatedIn = (conditions: readonly Condition[]): Resource[] =>
  conditions.flatMap((condition) => {
    if (condition.kind === 'comparison') return [];
    const below = relatedIn(condition.conditions);
    return condition.kind === 'relation' ? [condition.other, ...below] : below;
  });

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
