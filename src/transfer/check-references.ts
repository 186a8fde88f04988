import type { Column } from '../collection/column.js';
import type { Resource } from '../collection/resource.js';
import type { BulkConnection } from '../db/bulk-connection.js';
import type { Run } from '../db/db.js';
import { fill } from '../db/statements.js';
import { duplicate, unknownReference } from '../errors/record-errors.js';
import { isObject, type Json, member, setMember } from '../json.js';
import { parseUuid } from '../uuid.js';
import type { Draft } from './batch.js';
import { recordStatements, STATEMENTS } from './import-statements.js';
import { LEGACY_ID } from './record-id.js';

/** Called for each record that is refused, with its place and the error that it caused. */
export type Refuse = (place: number, error: unknown) => void;

/**
 * Replaces old ids in references: those of this import, then those that collections hold as `legacy_id`. Refuses drafts with
 * another one that is no id.
 */
export async function followReferences(
  run: Run,
  drafts: readonly Draft[],
  resource: Resource,
  parents: ReadonlyMap<string, Resource>,
  key: string,
  refuse: Refuse,
): Promise<void> {
  for (const { field, to, singular } of resource.references) {
    const values = new Map<string, Json>();
    for (const { record } of drafts) {
      const value = isObject(record) ? member(record, field) : undefined;
      if (typeof value === 'string' || typeof value === 'number') values.set(JSON.stringify(value), value);
    }
    if (values.size === 0) continue;
    const found = await findNewIds(run, values, key, to, parents.get(to)?.columns.get(LEGACY_ID));
    if (to === resource.name)
      for (const { oldId, identity } of drafts) if (oldId !== undefined) found.set(oldId, identity.id);
    for (const draft of drafts) {
      const { record } = draft;
      const old = isObject(record) ? JSON.stringify(member(record, field)) : '';
      const value = values.get(old);
      if (value === undefined || !isObject(record) || draft.isRefused) continue;
      const id = found.get(old) ?? parseUuid(String(value));
      if (id !== undefined) setMember(record, field, id);
      else {
        draft.isRefused = true;
        refuse(draft.place, unknownReference(field, singular));
      }
    }
  }
}

/** New ids by old ones, as JSON text. */
async function findNewIds(
  run: Run,
  values: ReadonlyMap<string, Json>,
  key: string,
  to: string,
  legacy: Column | undefined,
): Promise<Map<string, string>> {
  const rows = await run(STATEMENTS.get('find_ids')!, [key, to, JSON.stringify([...values.keys()])]);
  const found = new Map(rows.map(({ old, id }) => [old as string, id as string]));
  if (!legacy) return found;
  const isNumeric = legacy.type === 'double precision';
  const rest = [...values].filter(
    ([old, value]) => !found.has(old) && (!isNumeric || Number.isFinite(Number(value))),
  );
  if (rest.length === 0) return found;
  const text = fill(STATEMENTS.get('find_legacy_ids')!, { table: to, ...comparison(legacy) });
  const legacyRows = await run(text, [JSON.stringify(rest.map(([, value]) => String(value)))]);
  const ids = new Map(legacyRows.map(({ old, id }) => [keyOf(legacy, old), id as string]));
  for (const [old, value] of rest) {
    const id = ids.get(keyOf(legacy, value));
    if (id !== undefined) found.set(old, id);
  }
  return found;
}

/** Refuses drafts that refer to missing records; locks those that they refer to. */
export async function requireReferences(
  { run, engine }: Pick<BulkConnection, 'run' | 'engine'>,
  drafts: readonly Draft[],
  resource: Resource,
  refuse: Refuse,
): Promise<void> {
  const fields = [...resource.columns.keys()];
  for (const { field, to, singular } of resource.references) {
    const at = fields.indexOf(field);
    const valid = drafts.filter(({ row }) => row && row.columns[at] !== null);
    const ids = new Set(valid.map(({ row }) => row!.columns[at] as string));
    if (ids.size === 0) continue;
    const text = fill(recordStatements(engine).get('existing')!, { table: to });
    const rows = await run(text, [JSON.stringify([...ids])]);
    const existing = new Set(rows.map(({ id }) => id));
    // A batch may refer to itself.
    if (to === resource.name) for (const { row } of drafts) if (row) existing.add(row.id);
    for (const draft of valid) {
      if (existing.has(draft.row!.columns[at] as string)) continue;
      draft.row = undefined;
      refuse(draft.place, unknownReference(field, singular));
    }
  }
}

/** Refuses drafts with a value of a unique field that another record has. */
export async function requireUnique(
  run: Run,
  drafts: readonly Draft[],
  resource: Resource,
  refuse: Refuse,
): Promise<void> {
  const fields = [...resource.columns.keys()];
  for (const { field, code } of resource.unique) {
    const at = fields.indexOf(field);
    const column = resource.columns.get(field)!;
    const valid = drafts.filter(({ row }) => row && row.columns[at] !== null);
    const values = new Set(valid.map(({ row }) => String(row!.columns[at])));
    if (values.size === 0) continue;
    const parts = { table: resource.name, column: column.name, ...comparison(column) };
    const rows = await run(fill(STATEMENTS.get('in_use')!, parts), [JSON.stringify([...values])]);
    const used = new Set(rows.map(({ value }) => keyOf(column, value)));
    for (const draft of valid) {
      const value = keyOf(column, draft.row!.columns[at] as Json);
      if (!used.has(value)) used.add(value);
      else {
        draft.row = undefined;
        refuse(draft.place, duplicate(field, code));
      }
    }
  }
}

const comparison = ({ type }: Column) => ({ type, collation: type === 'text' ? ' collate "C"' : '' });

/** A value as a key; numbers have several texts. */
const keyOf = ({ type }: Column, value: unknown): string =>
  type === 'double precision' ? String(Number(value)) : String(value);
