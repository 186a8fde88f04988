import type { Principal } from '../auth/principal.js';
import { type Resource, referredIds } from '../collection/resource.js';
import type { ValidatedInput } from '../collection/validated-input.js';
import type { Run } from '../db/db.js';
import type { Problem } from '../errors/problem.js';
import { unknownReference } from '../errors/record-errors.js';
import type { JsonObject } from '../json.js';
import { OWN_COLUMNS, type Selection } from '../list/condition.js';
import { knownIds } from './fields.js';
import type { Guarded } from './guarded-collection.js';

/** A reference to a record that the caller must be able to read. */
interface CheckedReference {
  readonly field: string;
  readonly singular: string;
  readonly target: Guarded;
  readonly id: string;
  /** The place of the id in an array. */
  readonly index: number | undefined;
}

/** The references that a write sets to records of collections with rules. */
function checkedReferences(
  { references, set }: Resource,
  other: (name: string) => Guarded,
  input: ValidatedInput,
  before: JsonObject,
): CheckedReference[] {
  return references.flatMap((reference) => {
    const { field, to, singular } = reference;
    const target = other(to);
    // The caller does not choose the record that the service names.
    if (!target.ruled || set.some((each) => each.field === field)) return [];
    const present = knownIds(input, before, reference);
    return referredIds(input.fields, reference)
      .filter(({ id }) => !present.has(id))
      .map((each) => ({ ...each, field, singular, target }));
  });
}

/** The 422 for the first reference that each write sets to a record which the caller may not read; undefined: it may read all. */
export async function unreadableReferences(
  resource: Resource,
  other: (name: string) => Guarded,
  inputs: readonly ValidatedInput[],
  caller: { readonly principal: Principal },
  run: Run | undefined,
): Promise<(Problem | undefined)[]> {
  const references = inputs.map((input) => checkedReferences(resource, other, input, {}));
  const problemIn = await problemFinder(references.flat(), caller, run);
  return references.map(problemIn);
}

/** Throws 422 if a write sets a reference to a record that the caller may not read, as for one to no record. `before`: the record. */
export async function requireReadable(
  resource: Resource,
  other: (name: string) => Guarded,
  input: ValidatedInput,
  before: JsonObject,
  caller: { readonly principal: Principal },
  run: Run | undefined,
): Promise<void> {
  const checked = checkedReferences(resource, other, input, before);
  const [first, ...more] = checked;
  if (!first) return;
  if (more.length > 0) {
    const problem = (await problemFinder(checked, caller, run))(checked);
    if (problem) throw problem;
  } else if (!(await first.target.as(caller).exists(first.id, run))) throw problemOf(first);
}

const problemOf = ({ field, singular, index }: CheckedReference): Problem =>
  unknownReference(field, singular, index);

/** Finds the first reference of some to a record that the caller may not read. */
async function problemFinder(
  references: readonly CheckedReference[],
  caller: { readonly principal: Principal },
  run: Run | undefined,
): Promise<(some: readonly CheckedReference[]) => Problem | undefined> {
  const named = new Map<Guarded, Set<string>>();
  for (const { target, id } of references)
    named.set(target, (named.get(target) ?? new Set<string>()).add(id));
  const readable = new Map<Guarded, ReadonlySet<string>>();
  for (const [target, ids] of named)
    readable.set(target, new Set(await target.as(caller).ids(among([...ids]), ids.size, run)));
  return (some) => {
    const missing = some.find(({ target, id }) => !readable.get(target)!.has(id));
    return missing && problemOf(missing);
  };
}

/** The selection of the records with these ids. */
export const among = (values: readonly string[]): Selection => ({
  conditions: [{ kind: 'comparison', field: 'id', column: OWN_COLUMNS.get('id')!, operator: 'in', values }],
  search: [],
});
