import type { Guarded } from '../../access/guarded-collection.js';
import { grantsFor, readsAll } from '../../access/rules.js';
import { valuesIn } from '../../actions/query.js';
import { readAs } from '../../actions/readable.js';
import type { Permission, Principal } from '../../auth/principal.js';
import type { Reference, Resource } from '../../collection/resource.js';
import { badRequest, notFound } from '../../errors/request-errors.js';
import { readOperations } from '../../formats/json-patch.js';
import type { Body, Request } from '../../http/request.js';
import { escapeToken, isObject, type Json, member } from '../../json.js';
import type { Condition, Selection } from '../../list/condition.js';
import { readList } from '../../list/read-list.js';

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
  ...namedBy(resource.references, all),
];

const namedBy = (references: readonly Reference[], all: readonly Guarded[]): Resource[] =>
  all.map(({ resource }) => resource).filter(({ name }) => references.some(({ to }) => to === name));

/** The collections whose rules decide which records an export lists. Throws 400 and 403, as the list does. */
export function exportResources(
  collection: Guarded,
  all: readonly Guarded[],
  request: Request,
): readonly Resource[] {
  const { resource } = collection;
  const { access } = collection.as(request);
  const context = { lists: request.version.lists, isLines: true, access };
  const { selection } = readAs(collection, all, request, (of, others) =>
    readList(valuesIn(request, resource), of, { ...context, others }),
  );
  return [resource, ...relatedIn(selection.conditions)];
}

/**
 * The collections whose rules decide about the records that a job changes: theirs, those to which the conditions lead, and those to
 * which the patch may refer. Throws 400 for a malformed patch.
 */
export function changeResources(
  { resource }: Guarded,
  all: readonly Guarded[],
  { conditions }: Selection,
  patch: Body | undefined,
): readonly Resource[] {
  const set = patch ? resource.references.filter((each) => mayRefer(patch.value, each)) : [];
  return [resource, ...relatedIn(conditions), ...namedBy(set, all)];
}

/** Whether a patch may give a value to a reference. */
function mayRefer(patch: Json | undefined, { field }: Reference): boolean {
  if (isObject(patch)) return (member(patch, field) ?? null) !== null;
  const pointer = `/${escapeToken(field)}`;
  return readOperations(patch ?? null).some(
    ({ op, path }) =>
      op !== 'remove' && op !== 'test' && (path === '' || path === pointer || path.startsWith(`${pointer}/`)),
  );
}

/** The collections to which conditions lead. A job without the claims of their rules would find other records than the request. */
const relatedIn = (conditions: readonly Condition[]): Resource[] =>
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
