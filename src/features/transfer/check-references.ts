import type { Column } from '../../collection/column.js';
import type { Resource } from '../../collection/resource.js';
import type { BulkConnection } from '../../db/bulk-connection.js';
import type { Row, Run } from '../../db/db.js';
import { fill } from '../../db/statements.js';
import { duplicate, unknownReference } from '../../errors/record-errors.js';
import { isObject, type Json, type JsonObject, member, setMember } from '../../json.js';
import { parseUuid } from '../../uuid.js';
import { isExactNumber } from './csv-cell.js';
import type { ImportRow, Refuse } from './import-row.js';
import { IMPORT_SQL, recordStatement } from './import-statements.js';
import { LEGACY_ID } from './reference-names.js';

/**
 * Replaces old ids in references: those of this import, then those that collections hold as `legacy_id`. Notes a fault of
 * each draft with another one that is no id.
 */
export async function followReferences(
  run: Run,
  drafts: readonly ImportRow[],
  resource: Resource,
  parents: ReadonlyMap<string, Resource>,
  key: string,
): Promise<void> {
  for (const { field, to, table, singular, isList } of resource.references) {
    const valueIn = ({ record }: ImportRow) => (isObject(record) ? member(record, field) : undefined);
    const given = drafts.map(valueIn).flatMap((value) => (isList && Array.isArray(value) ? value : [value]));
    const values = new Set(given.filter(isId).map(String));
    if (values.size === 0) continue;
    const known = await idsInImport(run, values, key, to);
    const rest = [...values].filter((value) => !known.has(value));
    const legacy = await idsByLegacy(run, rest, table, parents.get(to)?.columns.get(LEGACY_ID));
    for (const draft of drafts) {
      const value = valueIn(draft);
      const follow = (each: Json | undefined, index?: number): Json | undefined => {
        if (!isId(each)) return each;
        const old = String(each);
        const id = known.get(old) ?? legacy.get(old) ?? parseUuid(old);
        if (id === undefined) draft.faults.push({ field, error: unknownReference(field, singular, index) });
        if (known.has(old)) draft.expected.add(id!);
        return id ?? each;
      };
      const followed =
        isList && Array.isArray(value) ? value.map((each, at) => follow(each, at)!) : follow(value);
      if (followed !== undefined) setMember(draft.record as JsonObject, field, followed);
    }
  }
}

const isId = (value: Json | undefined): value is string | number =>
  typeof value === 'string' || typeof value === 'number';

/** New ids of records of this import by their old ones. */
export async function idsInImport(
  run: Run,
  old: Iterable<string>,
  key: string,
  to: string,
): Promise<Map<string, string>> {
  const rows = await run(IMPORT_SQL.find_ids, [key, to, JSON.stringify([...old])]);
  return new Map(rows.map(({ old, id }) => [old as string, id as string]));
}

/** Ids of stored records by what these hold as `legacy_id`. */
async function idsByLegacy(
  run: Run,
  values: readonly string[],
  table: string,
  legacy: Column | undefined,
): Promise<Map<string, string>> {
  const isNumeric = legacy?.type === 'double precision';
  // PostgreSQL reads fewer texts as numbers than JavaScript.
  const wanted = isNumeric ? values.filter(isExactNumber) : values;
  if (!legacy || wanted.length === 0) return new Map();
  const text = fill(IMPORT_SQL.find_legacy_ids, { table, ...comparison(legacy) });
  const rows = await run(text, [JSON.stringify(wanted)]);
  const ids = new Map(rows.map(({ old, id }) => [keyOf(legacy, old), id as string]));
  return new Map(
    wanted.flatMap((value) => {
      const id = ids.get(keyOf(legacy, value));
      return id === undefined ? [] : [[value, id] as const];
    }),
  );
}

/** Refuses drafts that refer to missing records; locks those that they refer to. */
export async function requireReferences(
  { run, engine }: Pick<BulkConnection, 'run' | 'engine'>,
  drafts: readonly ImportRow[],
  resource: Resource,
  refuse: Refuse,
): Promise<void> {
  const fields = [...resource.columns.keys()];
  for (const { field, to, table, singular, isList } of resource.references) {
    const at = fields.indexOf(field);
    const valid = drafts.filter(({ row }) => row && row.columns[at] !== null);
    const idsIn = ({ row }: ImportRow) => [row!.columns[at] as string | readonly string[]].flat();
    const ids = new Set(valid.flatMap(idsIn));
    if (ids.size === 0) continue;
    const text = fill(recordStatement(engine, 'existing'), { table, name: to });
    const rows = await run(text, [JSON.stringify([...ids])]);
    const existing = new Set(rows.map(({ id }) => id));
    for (const draft of valid) {
      const given = idsIn(draft);
      const missing = [...new Set(given)].filter((id) => !existing.has(id));
      if (missing.length === 0) continue;
      // On Citus no later statement can write a column that decides the shard.
      const unknown = missing.find((id) => engine !== 'postgresql' || !draft.expected.has(id));
      if (unknown !== undefined) {
        refuse(draft, unknownReference(field, singular, isList ? given.indexOf(unknown) : undefined));
        continue;
      }
      const present = given.filter((id) => existing.has(id));
      draft.row!.columns[at] = present.length === 0 ? null : present;
      draft.row!.deferred.push(...missing.map((target) => ({ field, target })));
    }
  }
}

/** Refuses drafts with the values of a unique key that another record has. */
export async function requireUnique(
  run: Run,
  drafts: readonly ImportRow[],
  resource: Resource,
  refuse: Refuse,
): Promise<void> {
  const fields = [...resource.columns.keys()];
  for (const key of resource.unique) {
    const at = key.fields.map((field) => fields.indexOf(field));
    const columns = key.fields.map((field) => resource.columns.get(field)!);
    const valuesOf = ({ row }: ImportRow) => at.map((each) => row!.columns[each] as Json);
    const keyIn = (values: readonly unknown[]) =>
      values.map((each, of) => keyOf(columns[of]!, each)).join('\0');
    const valid = drafts.filter((draft) => draft.row && !valuesOf(draft).includes(null));
    const wanted = new Map(valid.map((draft) => [keyIn(valuesOf(draft)), valuesOf(draft)]));
    if (wanted.size === 0) continue;
    const rows = await inUse(run, resource.table, columns, [...wanted.values()]);
    const used = new Map(rows.map(({ id, ...row }) => [keyIn(Object.values(row)), id as string]));
    for (const draft of valid) {
      const value = keyIn(valuesOf(draft));
      const user = used.get(value);
      if (user === undefined) used.set(value, draft.row!.id);
      else if (user !== draft.row!.id) refuse(draft, duplicate(key.fields, key.code));
    }
  }
}

/** The ids of records with these values of columns, after the values as texts. */
function inUse(
  run: Run,
  table: string,
  columns: readonly Column[],
  values: readonly (readonly Json[])[],
): Promise<readonly Row[]> {
  const [column] = columns;
  if (columns.length === 1) {
    const parts = { table, column: column!.name, ...comparison(column!) };
    return run(fill(IMPORT_SQL.in_use, parts), [JSON.stringify(values.map(([value]) => String(value)))]);
  }
  const parts = {
    table,
    values: columns.map(({ name }) => `current.${name}::text as ${name}, `).join(''),
    given: columns.map(({ name, type }) => `${name} ${type}`).join(', '),
    equal: columns
      .map((each) => `current.${each.name}${comparison(each).collation} = given.${each.name}`)
      .join(' and '),
  };
  const given = values.map((row) => Object.fromEntries(columns.map(({ name }, at) => [name, row[at]!])));
  return run(fill(IMPORT_SQL.keys_in_use, parts), [JSON.stringify(given)]);
}

const comparison = ({ type }: Column) => ({ type, collation: type === 'text' ? ' collate "C"' : '' });

/** A value as a key; numbers have several texts. */
const keyOf = ({ type }: Column, value: unknown): string =>
  type === 'double precision' ? String(Number(value)) : String(value);
