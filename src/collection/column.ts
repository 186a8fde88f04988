import { isObject, type Json, type JsonObject } from '../json.js';
import { instantOf } from '../validation/times.js';

/** A value as the database stores it in a column. */
export type ColumnValue = string | number | boolean | null | readonly (string | number)[] | JsonObject;

export type ColumnType =
  | 'text'
  | 'double precision'
  | 'boolean'
  | 'uuid'
  | 'text[]'
  | 'uuid[]'
  | 'double precision[]'
  | 'jsonb';

/** A column of a collection's table, besides the document: it repeats a field that the database compares or constrains. */
export interface Column {
  /** The column's name, which needs no quotes. */
  readonly name: string;
  readonly type: ColumnType;
  /** Whether the field's values, or those of its array, are points in time (RFC 3339); the column has them in UTC. */
  readonly isInstant: boolean;
  /** The format of the field's texts, or of those in its array, if it is one of dates, times and durations. */
  readonly format?: string | undefined;
  /** Whether the order of the texts is not the one of their values: `PT1H` and `P1D`. Lists compare them for equality only. */
  readonly isUnordered?: boolean;
  /** Whether an index has the whole values, so that their length is limited. A searched text is in parts in its index. */
  readonly isIndexed: boolean;
  /** The table in statements with a row for each record and id, if the field is an array of references. */
  readonly links?: string | undefined;
}

/** The column of fields that no response contains, as a JSON object. */
export const WRITE_ONLY: Column = { name: 'write_only', type: 'jsonb', isInstant: false, isIndexed: false };

/** The column of the links of arrays with the id of the record that has the array. No field's column has such a name. */
export const LINKED_RECORD = 'record$';

/** Bytes of a text that an index can hold. */
export const MAX_INDEXED_BYTES = 2000;

/**
 * The value of a column from a valid value of its field, and none from a stored text that is no point in time. Undefined: it
 * is too long for an index.
 */
export function columnValue(
  { isInstant, isIndexed }: Column,
  value: Json | undefined,
): ColumnValue | undefined {
  if (value === undefined || value === null) return null;
  if (Array.isArray(value)) {
    const list = (value as readonly (string | number)[]).flatMap((element) =>
      isInstant ? (instantOf(element as string) ?? []) : element,
    );
    return list.every(fitsIndex) ? (list.length === 0 ? null : list) : undefined;
  }
  if (isInstant) return instantOf(value as string) ?? null;
  const scalar = value as string | number | boolean;
  return !isIndexed || fitsIndex(scalar) ? scalar : undefined;
}

/** A column's value as the parameter of a statement; a list as its JSON text. */
export function parameterOf(value: ColumnValue): string | number | null {
  if (typeof value === 'boolean') return String(value);
  return Array.isArray(value) || isObject(value as Json)
    ? JSON.stringify(value)
    : (value as string | number | null);
}

/** The SQL of a column's parameter. */
export function parameterSql({ type }: Column, position: number): string {
  if (type === 'jsonb') return `jsonb_strip_nulls($${position}::text::jsonb)`;
  // The driver would read a boolean parameter as a JavaScript value.
  if (type === 'boolean') return `$${position}::text::boolean`;
  if (!type.endsWith('[]')) return `$${position}`;
  const element = type.slice(0, -2);
  return `(select array_agg(element::${element}) from json_array_elements_text($${position}::text::json) as element)`;
}

/** The SQL of a parameter as it was given: nulls are not removed from `jsonb`. */
export function rawParameter(column: Column, position: number): string {
  return column.type === 'jsonb' ? `$${position}::text::jsonb` : parameterSql(column, position);
}

/** The SQL that assigns a column; `value` is the new one. Fields that no response contains remain unless they are given. */
export function assignmentSql({ name, type }: Column, value: string): string {
  return type === 'jsonb'
    ? `${name} = jsonb_strip_nulls(coalesce(current.${name}, '{}') || ${value})`
    : `${name} = ${value}`;
}

function fitsIndex(value: string | number | boolean): boolean {
  return (
    typeof value !== 'string' ||
    value.length * 3 <= MAX_INDEXED_BYTES ||
    Buffer.byteLength(value) <= MAX_INDEXED_BYTES
  );
}

const TYPES: Readonly<Record<string, string>> = {
  text: 'string',
  uuid: 'string',
  'double precision': 'number',
  boolean: 'boolean',
};

/** The value of a column from a stored one: none if that is not of its type. Undefined: it is too long for an index. */
export const storedValue = (column: Column, value: Json | undefined): ColumnValue | undefined =>
  isOfType(column.type, value) ? columnValue(column, value) : null;

/** Whether a stored value has its column's type; values from before the declaration may have another. */
function isOfType(type: string, value: unknown): boolean {
  if (type.endsWith('[]'))
    return Array.isArray(value) && value.every((each) => isOfType(type.slice(0, -2), each));
  return typeof value === TYPES[type];
}
