import type { Reference } from '../collection/resource.js';
import type { Run } from '../db/db.js';
import { type JsonObject, member } from '../json.js';
import { parseUuid } from '../uuid.js';

/** The table of a collection in statements; undefined: it has none yet. */
export type TableOf = (collection: string) => string | undefined;

/** Whether a field of a record refers to no record. */
export type IsDangling = (record: JsonObject, reference: Reference) => boolean;

/** Looks the references of some records up. */
export async function danglingIn(
  run: Run,
  references: readonly Reference[],
  records: readonly JsonObject[],
  tableOf: TableOf,
): Promise<IsDangling> {
  const known = new Map<string, ReadonlySet<string>>();
  for (const { field, to } of references) {
    const ids = records.flatMap((record) => idIn(record, field) ?? []);
    const table = tableOf(to);
    const rows =
      ids.length === 0 || table === undefined
        ? []
        : await run(`select id from ${table} where id = any ($1::uuid[])`, [`{${ids.join(',')}}`]);
    known.set(field, new Set(rows.map(({ id }) => String(id))));
  }
  return (record, { field }) => {
    const value = member(record, field) ?? null;
    return value !== null && !known.get(field)!.has(idIn(record, field) ?? '');
  };
}

function idIn(record: JsonObject, field: string): string | undefined {
  const value = member(record, field);
  return typeof value === 'string' ? parseUuid(value) : undefined;
}
