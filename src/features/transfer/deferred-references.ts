import { isNeeded, type Resource } from '../../collection/resource.js';
import type { Row as Found } from '../../db/db.js';
import { inTransaction } from '../../db/session.js';
import { fill } from '../../db/statements.js';
import { unknownReference } from '../../errors/record-errors.js';
import type { ImportRun } from './import-run.js';
import { IMPORT_SQL } from './import-statements.js';

/** References that are set in one transaction. */
const REFERENCES_AT_ONCE = 5000;

/** A record that was stored, and is removed since a record to which it refers was refused. */
export interface Removed {
  readonly collection: string;
  /** Undefined: it refers to another removed record. */
  readonly place: number | undefined;
  readonly id: string;
  readonly error: unknown;
}

/**
 * Sets the deferred references, which writes no events: the documents have them already. Removes the records that refer to a
 * record which was refused, and those that refer to them.
 */
export async function settleReferences(
  importRun: ImportRun,
  onRemoved: (removed: Removed) => void,
): Promise<void> {
  const {
    connection: { run, execute },
    key,
    resources,
    dryRun,
  } = importRun;
  const pending = await run(IMPORT_SQL.deferred_fields, [key]);
  for (const row of pending) {
    const [collection, field] = [String(row.collection), String(row.field)];
    const resource = resources.get(collection);
    const reference = resource?.references.find((each) => each.field === field);
    if (!resource || !reference) continue;
    const parts = partsOf(resource, field);
    const text = fill(IMPORT_SQL.set_references, {
      ...parts,
      to: reference.table,
      value: reference.isList
        ? `coalesce(current.${parts.column}, '{}') || added.targets`
        : 'added.targets[1]',
    });
    for (let count = REFERENCES_AT_ONCE; count === REFERENCES_AT_ONCE; )
      await inTransaction(execute, dryRun, async () => {
        await execute(IMPORT_SQL.without_events);
        count = (await run(text, [key, collection, field, REFERENCES_AT_ONCE])).length;
      });
  }
  for (;;) {
    const rows = await run(IMPORT_SQL.unsettled, [key]);
    if (rows.length === 0) return;
    await inTransaction(execute, dryRun, () => removeRecords(importRun, rows, onRemoved));
  }
}

async function removeRecords(
  { connection: { run }, key, resources }: ImportRun,
  rows: readonly Found[],
  onRemoved: (removed: Removed) => void,
): Promise<void> {
  const removed = new Map<string, Removed>();
  const add = ({ name, references }: Resource, field: string, id: string, place?: number) => {
    const { singular } = references.find((each) => each.field === field)!;
    if (!removed.has(id))
      removed.set(id, { collection: name, id, place, error: unknownReference(field, singular) });
  };
  for (const { collection, field, id, place } of rows)
    add(resources.get(String(collection))!, String(field), String(id), Number(place));
  // The loop goes on to the records that it adds.
  for (const { id: target, collection } of removed.values())
    for (const resource of resources.values())
      for (const { field, to, onDelete, isList } of resource.references) {
        if (to !== collection || onDelete === 'null' || onDelete === 'remove') continue;
        const text = isList ? IMPORT_SQL.naming : IMPORT_SQL.referring;
        for (const { id } of await run(fill(text, partsOf(resource, field)), [target]))
          add(resource, field, String(id));
      }
  const names = new Set([...removed.values()].map(({ collection }) => collection));
  const collections = childrenFirst([...names].map((name) => resources.get(name)!));
  const idsOf = (name: string) =>
    JSON.stringify([...removed.values()].filter(({ collection }) => collection === name).map(({ id }) => id));
  // The records of a cycle refer to each other.
  for (const resource of collections)
    for (const { field } of resource.references.filter((each) => !isNeeded(resource, each)))
      await run(fill(IMPORT_SQL.unset_reference, partsOf(resource, field)), [idsOf(resource.name)]);
  for (const { name, table } of collections) {
    await run(fill(IMPORT_SQL.remove_records, { table }), [idsOf(name)]);
    await run(IMPORT_SQL.forget_deferred, [key, name, idsOf(name)]);
  }
  for (const each of removed.values()) {
    await run(IMPORT_SQL.count_removed, [key, each.collection]);
    onRemoved(each);
  }
}

const partsOf = ({ table, columns }: Resource, field: string) => ({
  table,
  column: columns.get(field)!.name,
});

/** Collections, each before those that it needs a reference to. */
function childrenFirst(collections: readonly Resource[]): readonly Resource[] {
  const ordered = new Set<Resource>();
  const seen = new Set<Resource>();
  const add = (resource: Resource): void => {
    if (seen.size === seen.add(resource).size) return;
    for (const each of collections)
      if (each.references.some((of) => of.to === resource.name && isNeeded(each, of))) add(each);
    ordered.add(resource);
  };
  for (const resource of collections) add(resource);
  return [...ordered];
}
