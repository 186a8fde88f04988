import type { Column } from '../../collection/column.js';
import { normalizedText, type Resource } from '../../collection/resource.js';
import type { Run } from '../../db/db.js';
import { invalid } from '../../errors/input-errors.js';
import { unknownReference } from '../../errors/record-errors.js';
import { escapeToken, isObject, type Json, type JsonObject, member, setMember } from '../../json.js';
import { parseUuid } from '../../uuid.js';
import { type FoundRecord, findByValues, keyOf } from './check-references.js';
import { isExactNumber } from './csv-cell.js';
import type { Draft } from './import-row.js';
import type { ImportRun } from './import-run.js';
import { IMPORT_SQL } from './import-statements.js';
import { LEGACY_ID } from './reference-names.js';

/** A record in which references have the ids of records. */
export interface Followed {
  readonly record: Json;
  /** Why references lead nowhere. */
  readonly errors: readonly unknown[];
}

/** A valid reference in place of one that leads nowhere, so that the other fields are checked. */
const NO_ID = '00000000-0000-7000-8000-000000000000';

/** The id of a record, or why there is none. */
type Found = { readonly id: string } | { readonly error: unknown };

/**
 * Looks up the references of records: their old ids in this import, then in what collections hold as `legacy_id`; or with a
 * lookup their values in a field of the other collection.
 */
export async function lookUpReferences(
  { connection: { run }, key, resources, lookups }: ImportRun,
  { name, references }: Resource,
  drafts: readonly Draft[],
): Promise<(record: Json) => Followed> {
  const found = new Map<string, (text: string, index: number | undefined) => Found>();
  for (const { field, to, table, singular } of references) {
    const values = new Set(drafts.flatMap(({ record }) => oldIdsIn(record, field)));
    const target = resources.get(to);
    const { by } = lookups.get(field)?.to === to ? lookups.get(field)! : {};
    if (target && by !== undefined) {
      const column = target.columns.get(by)!;
      const stored = (text: string) =>
        column.type === 'text' ? normalizedText(target, by, text, 'whole') : text;
      const ids = await findByTexts(run, table, column, [...values].map(stored));
      found.set(field, (text, index) => {
        const record = ids(stored(text));
        if (record && !record.isAmbiguous) return { id: record.id };
        const message = `${record ? 'more than one' : 'no'} ${singular} has this ${by}`;
        const path = `/${escapeToken(field)}${index === undefined ? '' : `/${index}`}`;
        return { error: invalid([{ path, message, keyword: 'lookup' }]) };
      });
      continue;
    }
    const old =
      values.size === 0 ? [] : await run(IMPORT_SQL.find_ids, [key, to, JSON.stringify([...values])]);
    const imported = new Map(old.map(({ old, id }) => [String(old), String(id)]));
    if (to === name)
      for (const { oldId, id } of drafts)
        if (oldId !== undefined && !imported.has(oldId)) imported.set(oldId, id);
    const rest = [...values].filter((value) => !imported.has(value));
    const legacy = target?.columns.get(LEGACY_ID);
    const stored = legacy && (await findByTexts(run, table, legacy, rest));
    found.set(field, (old, index) => {
      const id = imported.get(old) ?? stored?.(old)?.id ?? parseUuid(old);
      return id === undefined ? { error: unknownReference(field, singular, index) } : { id };
    });
  }
  return (given) => {
    const errors: unknown[] = [];
    if (!isObject(given)) return { record: given, errors };
    const record: JsonObject = { ...given };
    for (const { field, isList } of references) {
      const value = member(given, field);
      const follow = (each: Json, index?: number): Json => {
        if (!isOldId(each)) return each;
        const target = found.get(field)!(String(each), index);
        if ('id' in target) return target.id;
        errors.push(target.error);
        return NO_ID;
      };
      if (value === undefined) continue;
      setMember(record, field, isList && Array.isArray(value) ? value.map(follow) : follow(value));
    }
    return { record, errors };
  };
}

const isOldId = (value: Json | undefined): value is string | number =>
  typeof value === 'string' || typeof value === 'number';

/** The old ids to which a record refers in a field. */
export function oldIdsIn(record: Json, field: string): string[] {
  const value = isObject(record) ? member(record, field) : undefined;
  return (Array.isArray(value) ? value : [value]).filter(isOldId).map(String);
}

/** Finds stored records by the texts of values of a column. */
async function findByTexts(
  run: Run,
  table: string,
  column: Column,
  texts: readonly string[],
): Promise<(text: string) => FoundRecord | undefined> {
  // PostgreSQL reads fewer texts as numbers than JavaScript.
  const wanted = column.type === 'double precision' ? texts.filter(isExactNumber) : texts;
  const values = wanted.map((text) => [text]);
  const found = await findByValues(run, table, [column], values);
  return (text) => found.get(keyOf([column], [text]));
}
