import { isNeeded, type Resource } from '../../collection/resource.js';
import type { Row as Found } from '../../db/db.js';
import { inTransaction } from '../../db/session.js';
import { fill } from '../../db/statements.js';
import { unknownReference } from '../../errors/record-errors.js';
import type { ImportRow } from './import-row.js';
import type { ImportRun } from './import-run.js';
import { IMPORT_SQL } from './import-statements.js';

/** References that are set in one transaction. */
const REFERENCES_AT_ONCE = 5000;

type Where = Pick<ImportRun, 'connection' | 'key' | 'resources' | 'isDryRun'>;

/** Notes the references of stored records that are set at the end, in the transaction of the records. */
export async function deferReferences(
  { connection, key }: Where,
  collection: string,
  stored: readonly ImportRow[],
): Promise<void> {
  const rows = stored.flatMap(({ row, place }) =>
    row!.deferred.map(({ field, target }) => ({ field, id: row!.id, target, place })),
  );
  if (rows.length > 0)
    await connection.run(IMPORT_SQL.defer_references, [key, collection, JSON.stringify(rows)]);
}

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
export async function settleReferences(where: Where, onRemoved: (removed: Removed) => void): Promise<void> {
  const { connection, key, resources } = where;
  const pending = await connection.run(IMPORT_SQL.deferred_fields, [key]);
  for (const row of pending) {
    const [collection, field] = [String(row.collection), String(row.field)];
    const resource = resources.get(collection);
    const reference = resource?.references.find((each) => each.field === field);
    if (!resource || !reference) continue;
    const column = resource.columns.get(field)!.name;
    const text = fill(IMPORT_SQL.set_references, {
      table: resource.table,
      column,
      to: reference.table,
      value: reference.isList ? `coalesce(current.${column}, '{}') || added.targets` : 'added.targets[1]',
    });
    for (let count = REFERENCES_AT_ONCE; count === REFERENCES_AT_ONCE; )
      await withoutEvents(where, async () => {
        count = (await connection.run(text, [key, collection, field, REFERENCES_AT_ONCE])).length;
      });
  }
  for (;;) {
    const rows = await connection.run(IMPORT_SQL.unsettled, [key]);
    if (rows.length === 0) return;
    await inTransaction(connection.execute, where.isDryRun, () => removeRecords(where, rows, onRemoved));
  }
}

function withoutEvents({ connection, isDryRun }: Where, work: () => Promise<void>): Promise<void> {
  return inTransaction(connection.execute, isDryRun, async () => {
    await connection.execute(IMPORT_SQL.without_events);
    await work();
  });
}

async function removeRecords(
  { connection: { run }, key, resources }: Where,
  rows: readonly Found[],
  onRemoved: (removed: Removed) => void,
): Promise<void> {
  const removed = new Map<string, Removed>();
  const queue: Removed[] = [];
  const add = (each: Removed) => {
    if (removed.has(each.id)) return;
    removed.set(each.id, each);
    queue.push(each);
  };
  const reasonOf = (resource: Resource, field: string) =>
    unknownReference(field, resource.references.find((each) => each.field === field)!.singular);
  for (const row of rows) {
    const [collection, field] = [String(row.collection), String(row.field)];
    const error = reasonOf(resources.get(collection)!, field);
    add({ collection, id: String(row.id), place: Number(row.place), error });
  }
  for (let next = queue.shift(); next; next = queue.shift())
    for (const resource of resources.values())
      for (const { field, to, onDelete, isList } of resource.references) {
        if (to !== next.collection || onDelete === 'null' || onDelete === 'remove') continue;
        const parts = { table: resource.table, column: resource.columns.get(field)!.name };
        const text = isList ? IMPORT_SQL.naming : IMPORT_SQL.referring;
        for (const { id } of await run(fill(text, parts), [next.id]))
          add({
            collection: resource.name,
            id: id as string,
            place: undefined,
            error: reasonOf(resource, field),
          });
      }
  const names = new Set([...removed.values()].map(({ collection }) => collection));
  const collections = childrenFirst([...names].map((name) => resources.get(name)!));
  const idsOf = (name: string) =>
    JSON.stringify([...removed.values()].filter(({ collection }) => collection === name).map(({ id }) => id));
  // The records of a cycle refer to each other.
  for (const resource of collections)
    for (const { field } of resource.references.filter((each) => !isNeeded(resource, each))) {
      const parts = { table: resource.table, column: resource.columns.get(field)!.name };
      await run(fill(IMPORT_SQL.unset_reference, parts), [idsOf(resource.name)]);
    }
  for (const { name, table } of collections) {
    await run(fill(IMPORT_SQL.remove_records, { table }), [idsOf(name)]);
    await run(IMPORT_SQL.forget_deferred, [key, name, idsOf(name)]);
  }
  for (const each of removed.values()) {
    await run(IMPORT_SQL.count_removed, [key, each.collection]);
    onRemoved(each);
  }
}

/** Collections, each before those that it needs a reference to. */
function childrenFirst(collections: readonly Resource[]): Resource[] {
  const rest = new Set(collections);
  const ordered: Resource[] = [];
  const needs = (resource: Resource, to: Resource) =>
    resource.references.some((each) => each.to === to.name && isNeeded(resource, each));
  while (rest.size > 0) {
    const next = [...rest].find((each) => ![...rest].some((other) => other !== each && needs(other, each)));
    const [first] = rest;
    ordered.push(next ?? first!);
    rest.delete(next ?? first!);
  }
  return ordered;
}
