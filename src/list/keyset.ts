import { hash } from 'node:crypto';
import type { Resource, SortColumn } from '../collection/resource.js';
import { foreignCursor } from '../errors/input-errors.js';
import { parseUuid } from '../uuid.js';
import { type Access, conditionIdentity, hides, type Selection } from './condition.js';
import type { Direction, RelatedRecord, SortKey } from './read-sort.js';

/** A column by which a list is ordered. */
export interface KeyColumn {
  readonly column: SortColumn;
  readonly direction: Direction;
  /** The related record that has the column; undefined: a record of the list has it. */
  readonly related: RelatedRecord | undefined;
  /** Records without the field are last in both directions. */
  readonly isNullable: boolean;
}

/** The order of a list: by columns, then by the id, which is unique and begins with the time of creation. */
export interface Keyset {
  readonly keys: readonly KeyColumn[];
  readonly direction: Direction;
}

/** The order of some keys. Keys after `created_at` change nothing, nor does a field that comes again. */
export function keysetOf(
  { sorts: columns }: Resource,
  sorts: readonly SortKey[],
  access: Access | undefined,
): Keyset {
  const keys = new Map<string, KeyColumn>();
  for (const { field, direction, related } of sorts) {
    if (field === 'created_at') return { keys: [...keys.values()], direction };
    const column = related?.column ?? columns.get(field)!;
    const isNullable = column.isNullable || related?.own.isNullable === true || hides(access, field);
    if (!keys.has(field)) keys.set(field, { column, direction, related, isNullable });
  }
  return { keys: [...keys.values()], direction: sorts.at(-1)!.direction };
}

/** A place in the order of a list, from which a page goes on in one of the two directions. */
export interface Position {
  readonly side: 'after' | 'before';
  readonly id: string;
  /** The values of the keys, as text. */
  readonly values: readonly (string | null)[];
  /** Whether a record at the place itself belongs to the page. */
  readonly isInclusive: boolean;
}

/** Whether a page precedes its position. */
export const isBackward = (position: Position | undefined): boolean => position?.side === 'before';

/** Identifies a list with its restriction and its order; cursors contain it. */
export function listIdentity(
  { name }: Resource,
  { conditions, search, words, parent }: Selection,
  sorts: readonly SortKey[],
): string {
  const compared = conditions.map(conditionIdentity);
  const order = sorts.map(({ field, direction }) => ({ field, direction }));
  const found = words ? [words.query] : [];
  const parts = [name, parent ?? null, search.join('\n'), order, compared, ...found];
  return hash('sha256', JSON.stringify(parts), 'base64url').slice(0, 12);
}

/** A cursor at a record; `key` is the text of [id, ...values]. */
export function cursorAt(identity: string, key: string, isInclusive = false): string {
  const parts = [identity, isInclusive ? 1 : 0, ...(JSON.parse(key) as unknown[])];
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

/** Reads a cursor that `cursorAt` wrote for the same list. Throws 400 for any other text. The database reads the values. */
export function readCursor(
  text: string,
  side: Position['side'],
  identity: string,
  { keys }: Keyset,
): Position {
  const [list, inclusive, id, ...values] = parseCursor(text);
  const isValid =
    list === identity &&
    (inclusive === 0 || inclusive === 1) &&
    typeof id === 'string' &&
    parseUuid(id) === id &&
    values.length === keys.length &&
    keys.every(({ isNullable }, at) => typeof values[at] === 'string' || (isNullable && values[at] === null));
  if (!isValid) throw foreignCursor();
  return { side, id, values: values as (string | null)[], isInclusive: inclusive === 1 };
}

/** The parts of a cursor; none of another text. */
function parseCursor(text: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}
