import { createHash } from 'node:crypto';
import type { Column, ColumnType } from '../collection/column.js';
import type { Reference } from '../collection/resource.js';
import { TIME_FORMATS } from '../validation/times.js';
import type { DeclaredField, DeclaredItems } from './declaration.js';

/** The type of a column that the table of a collection has; undefined: it has none of that name. */
export type StoredType = (collection: string, column: string) => string | undefined;

/** Whether a field has a column besides the document. */
export function hasColumn(field: DeclaredField): boolean {
  return Boolean(field['x-index'] || field['x-unique'] || field['x-search'] || declaredReference(field));
}

/** The column of a field, or what prevents it. */
export function columnOf(name: string, field: DeclaredField): Column | { readonly fault: string } {
  const type = columnType(field);
  if (type === undefined)
    return {
      fault: declaredReference(field)
        ? 'a field with x-references must have the type string, or array with x-references in items of type string'
        : 'a field with x-index, x-unique or x-search must have one of the types string, number, integer, boolean, or array with items of type string or number',
    };
  const format = { text: field.format, 'text[]': itemsOf(field).format }[type as string];
  const timeFormat = Object.hasOwn(TIME_FORMATS, format ?? '') ? format : undefined;
  return {
    name: columnName(name),
    type,
    isInstant: timeFormat === 'date-time',
    isUnordered: UNORDERED.has(format ?? ''),
    format: timeFormat,
    isIndexed: Boolean(field['x-index'] || field['x-unique']),
  };
}

/** Formats with texts whose order is not the one of the values: zones, units and numbers of several digits. */
const UNORDERED = new Set(['time', 'duration', 'iso-time', 'iso-date-time', 'ipv4', 'ipv6']);

/**
 * The column as a table has it, or can have it beside a column of the same field with another type, which services with a
 * former declaration use. No field's own column has such a name, since it has a `$`.
 */
export function placedColumn(column: Column, typeOf: (name: string) => string | undefined): Column {
  const beside = { ...column, name: `${column.name}$${BESIDE[column.type]}` };
  const present = typeOf(column.name);
  if (present === column.type) return column;
  return present !== undefined || typeOf(beside.name) !== undefined ? beside : column;
}

const BESIDE: Readonly<Record<ColumnType, string>> = {
  text: 'text',
  'double precision': 'number',
  boolean: 'boolean',
  uuid: 'id',
  'text[]': 'texts',
  'uuid[]': 'ids',
  'double precision[]': 'numbers',
  jsonb: 'values',
};

function columnType(field: DeclaredField): ColumnType | undefined {
  const reference = declaredReference(field);
  const given = [field.type ?? (reference ? 'string' : [])].flat();
  if (reference && !reference.isList)
    return given.includes('string') && !['array', 'object', 'boolean'].some((each) => given.includes(each))
      ? 'uuid'
      : undefined;
  const types = given.filter((each) => each !== 'null');
  const items = types[0] === 'array' ? itemsOf(field).type : undefined;
  if (types.length !== 1) return undefined;
  if (reference) return items === 'string' ? 'uuid[]' : undefined;
  const scalar = SCALARS[items ?? types[0]!];
  if (items === undefined) return scalar;
  return scalar === undefined || scalar === 'boolean' ? undefined : (`${scalar}[]` as ColumnType);
}

const SCALARS: Readonly<Record<string, ColumnType>> = {
  string: 'text',
  number: 'double precision',
  integer: 'double precision',
  boolean: 'boolean',
};

/** Bytes that leave room for the suffixes of indexes: PostgreSQL cuts names after 63. */
const MAX_NAME = 40;

/** The column's name for a field: `authorId` is author_id. It needs no quotes, and is no other column's. */
export function columnName(field: string): string {
  const snake = field.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase();
  if (!/^[a-z_][a-z0-9_]*$/.test(snake) || snake.length > MAX_NAME)
    return `field_${createHash('sha256').update(field).digest('hex').slice(0, 16)}`;
  return RESERVED.has(snake) ? `${snake}_` : snake;
}

/** Names of other columns, also those of PostgreSQL itself, and words that PostgreSQL reserves (appendix C of its manual). */
const RESERVED: ReadonlySet<string> = new Set(
  `id version updated_at doc write_only tableoid xmin cmin xmax cmax ctid created_at ordinality record match page total first
  all analyse analyze and any array as asc asymmetric authorization between binary both case cast check collate collation
  column concurrently constraint create cross current_catalog current_date current_role current_schema current_time
  current_timestamp current_user default deferrable desc distinct do else end except false fetch for foreign freeze from
  full grant group having ilike in initially inner intersect into is isnull join lateral leading left like limit localtime
  localtimestamp natural not notnull null offset on only or order outer overlaps placing primary references returning right
  select session_user similar some symmetric system_user table tablesample then to trailing true union unique user using
  variadic verbose when where window with`.split(/\s+/),
);

/** The keywords of a field about the records to which it refers. */
export interface DeclaredReference {
  readonly to: string;
  readonly onDelete: Reference['onDelete'];
  /** Whether the field is an array of ids. */
  readonly isList: boolean;
}

/** The records to which a field refers: those of its id, or of the ids in its array. Undefined: it refers to none. */
export function declaredReference(field: DeclaredField): DeclaredReference | undefined {
  const isList = field['x-references'] === undefined;
  const id = isList ? itemsOf(field) : field;
  const { 'x-references': to, 'x-on-delete': onDelete = 'restrict' } = id;
  return to === undefined ? undefined : { to, onDelete, isList };
}

/** The schema of the items of a field. */
const itemsOf = ({ items }: DeclaredField): DeclaredItems =>
  typeof items === 'object' && items !== null ? items : {};
