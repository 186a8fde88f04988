import type { Reference } from '../collection/resource.js';
import type { Run } from '../db/db.js';
import { type Json, type JsonObject, member } from '../json.js';
import { parseUuid } from '../uuid.js';

/** The table of a collection in statements; undefined: it has none yet. */
export type TableOf = (collection: string) => string | undefined;

/** The places in a field of a record that refer to no record: pointers within the field. */
export type Dangling = (record: JsonObject, reference: Reference) => readonly string[];

/** Looks the references of some records up. */
export async function danglingIn(
  run: Run,
  references: readonly Reference[],
  records: readonly JsonObject[],
  tableOf: TableOf,
): Promise<Dangling> {
  const known = new Map<string, ReadonlySet<string>>();
  for (const reference of references) {
    const given = records.flatMap((record) => placesIn(record, reference));
    const ids = [...new Set(given.flatMap(([, id]) => id ?? []))];
    const table = tableOf(reference.to);
    const rows =
      ids.length === 0 || table === undefined
        ? []
        : await run(`select id from ${table} where id = any ($1::uuid[])`, [`{${ids.join(',')}}`]);
    known.set(reference.field, new Set(rows.map(({ id }) => String(id))));
  }
  return (record, reference) =>
    placesIn(record, reference).flatMap(([place, id]) =>
      known.get(reference.field)!.has(id ?? '') ? [] : [place],
    );
}

/** The places in a field that refer to records, each with its id; undefined: the value there is no id. */
function placesIn(
  record: JsonObject,
  { field, isList }: Reference,
): (readonly [place: string, id: string | undefined])[] {
  const value = member(record, field) ?? null;
  if (!isList) return value === null ? [] : [['', idOf(value)]];
  return Array.isArray(value) ? value.map((each, at) => [`/${at}`, idOf(each as Json)] as const) : [];
}

const idOf = (value: Json): string | undefined => (typeof value === 'string' ? parseUuid(value) : undefined);
