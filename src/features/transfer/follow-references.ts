import type { Column } from '../../collection/column.js';
import type { Resource } from '../../collection/resource.js';
import type { Run } from '../../db/db.js';
import { unknownReference } from '../../errors/record-errors.js';
import { isObject, type Json, type JsonObject, member, setMember } from '../../json.js';
import { parseUuid } from '../../uuid.js';
import { isExactNumber } from './csv-cell.js';
import { findByValues, keyOf } from './find-by-values.js';
import type { ImportRun } from './import-run.js';
import { IMPORT_SQL } from './import-statements.js';
import { LEGACY_ID } from './reference-names.js';

/** A record in which references have the ids of records. */
export interface Followed {
  readonly record: Json;
  /** The ids of records to which it refers, and that the import stores, perhaps later. */
  readonly expected: ReadonlySet<string>;
  /** References that lead nowhere. */
  readonly faults: readonly { readonly field: string; readonly error: unknown }[];
}

/** A valid reference in place of one that leads nowhere, so that the other fields are checked. */
export const NO_ID = '00000000-0000-7000-8000-000000000000';

/** Looks up the references of records: old ids of this import, then those that collections hold as `legacy_id`. */
export async function lookUpReferences(
  { connection: { run }, key, resources }: ImportRun,
  { references }: Resource,
  records: readonly Json[],
): Promise<(record: Json) => Followed> {
  const ids = new Map<string, (old: string) => { id: string; isImported: boolean } | undefined>();
  for (const { field, to, table } of references) {
    const values = new Set(records.flatMap((record) => oldIdsIn(record, field)));
    const imported = await idsInImport(run, values, key, to);
    const rest = [...values].filter((value) => !imported.has(value));
    const legacy = resources.get(to)?.columns.get(LEGACY_ID);
    const stored = legacy && (await idsByText(run, table, legacy, rest));
    ids.set(field, (old) => {
      const id = imported.get(old) ?? stored?.(old)[0] ?? parseUuid(old);
      return id === undefined ? undefined : { id, isImported: imported.has(old) };
    });
  }
  return (given) => {
    const [expected, faults] = [new Set<string>(), [] as { field: string; error: unknown }[]];
    if (!isObject(given)) return { record: given, expected, faults };
    const record: JsonObject = { ...given };
    for (const { field, singular, isList } of references) {
      const value = member(given, field);
      const follow = (each: Json, index?: number): Json => {
        if (!isOldId(each)) return each;
        const found = ids.get(field)!(String(each));
        if (!found) faults.push({ field, error: unknownReference(field, singular, index) });
        else if (found.isImported) expected.add(found.id);
        return found?.id ?? each;
      };
      if (value === undefined) continue;
      setMember(record, field, isList && Array.isArray(value) ? value.map(follow) : follow(value));
    }
    for (const { field } of faults) setMember(record, field, NO_ID);
    return { record, expected, faults };
  };
}

const isOldId = (value: Json | undefined): value is string | number =>
  typeof value === 'string' || typeof value === 'number';

function oldIdsIn(record: Json, field: string): string[] {
  const value = isObject(record) ? member(record, field) : undefined;
  return (Array.isArray(value) ? value : [value]).filter(isOldId).map(String);
}

/** New ids of records of this import by their old ones. */
export async function idsInImport(
  run: Run,
  old: ReadonlySet<string>,
  key: string,
  to: string,
): Promise<Map<string, string>> {
  if (old.size === 0) return new Map();
  const rows = await run(IMPORT_SQL.find_ids, [key, to, JSON.stringify([...old])]);
  return new Map(rows.map(({ old, id }) => [old as string, id as string]));
}

/** Finds stored records by the texts of values of a column. Returns the ids for a text. */
async function idsByText(
  run: Run,
  table: string,
  column: Column,
  texts: readonly string[],
): Promise<(text: string) => readonly string[]> {
  // PostgreSQL reads fewer texts as numbers than JavaScript.
  const wanted = column.type === 'double precision' ? texts.filter(isExactNumber) : texts;
  const found = new Map<string, string[]>();
  for (const { key, id } of await findByValues(
    run,
    table,
    [column],
    wanted.map((text) => [text]),
  ))
    found.set(key, [...(found.get(key) ?? []), id]);
  return (text) => found.get(keyOf([column], [text])) ?? [];
}
