import type { Resource } from '../collection/resource.js';
import type { ValidatedInput } from '../collection/validated-input.js';
import type { Run } from '../db/db.js';
import type { Problem } from '../errors/problem.js';
import { unknownReference } from '../errors/record-errors.js';
import { type JsonObject, member } from '../json.js';
import { OWN_COLUMNS, type Selection } from '../list/condition.js';
import type { Principal } from '../principal.js';
import type { Guarded } from './guarded-collection.js';

/** A reference to a record that the caller must be able to read. */
interface CheckedReference {
  readonly field: string;
  readonly singular: string;
  readonly target: Guarded;
  readonly id: string;
}

/** The references that a write sets to records of collections with rules. */
export function checkedReferences(
  { references, set }: Resource,
  other: (name: string) => Guarded,
  input: ValidatedInput,
  before: JsonObject,
): CheckedReference[] {
  return references.flatMap(({ field, to, singular }) => {
    const id = member(input.fields, field);
    const target = other(to);
    if (typeof id !== 'string' || !target.ruled || id === member(before, field)) return [];
    // The caller does not choose the record that the service names.
    return set.some((each) => each.field === field) ? [] : [{ field, singular, target, id }];
  });
}

/** The 422 for the first reference of each new record to one that the caller may not read; undefined: it may read all. */
export async function unreadableReferences(
  resource: Resource,
  other: (name: string) => Guarded,
  inputs: readonly ValidatedInput[],
  caller: { readonly principal: Principal },
  run: Run,
): Promise<(Problem | undefined)[]> {
  const references = inputs.map((input) => checkedReferences(resource, other, input, {}));
  const named = new Map<Guarded, Set<string>>();
  for (const { target, id } of references.flat())
    named.set(target, (named.get(target) ?? new Set<string>()).add(id));
  const readable = new Map<Guarded, ReadonlySet<string>>();
  for (const [target, ids] of named)
    readable.set(target, new Set(await target.as(caller).ids(among([...ids]), ids.size, run)));
  return references.map((each) => {
    const missing = each.find(({ target, id }) => !readable.get(target)!.has(id));
    return missing && unknownReference(missing.field, missing.singular);
  });
}

/** The selection of the records with these ids. */
export const among = (values: readonly string[]): Selection => ({
  conditions: [{ kind: 'comparison', field: 'id', column: OWN_COLUMNS.get('id')!, operator: 'in', values }],
  search: [],
});
