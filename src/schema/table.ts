import { createHash } from 'node:crypto';
import type { Column } from '../collection/column.js';
import {
  comparable,
  type Reference,
  type Resource,
  searchSql,
  shardColumn,
  wordsSql,
} from '../collection/resource.js';
import { nullName, type ObjectName, objectName, referenceName, uniqueName } from '../db/object-names.js';
import type { Layout } from './catalog.js';
import type { Links } from './links.js';
import { linksOf } from './links.js';

/** An index that a declaration needs. */
export interface Index {
  readonly name: ObjectName;
  /** The definition after `on <table>`. */
  readonly definition: string;
  readonly isUnique: boolean;
  /** The columns that its definition names. */
  readonly columns: readonly string[];
}

/** A foreign key that a declaration needs. */
export interface ForeignKey {
  readonly name: ObjectName;
  /** The name of the trigger that removes the field from the records that refer to a deleted one. */
  readonly nullName: ObjectName;
  readonly field: string;
  readonly column: string;
  readonly to: string;
  /** The table of that collection in statements. */
  readonly target: string;
  readonly onDelete: 'cascade' | 'restrict' | 'null';
}

/** The table that a declaration needs, besides what all collections have. */
export interface Table {
  readonly name: string;
  readonly schema: string;
  /** The table's name in statements. */
  readonly sql: string;
  readonly columns: readonly Column[];
  readonly indexes: readonly Index[];
  readonly foreignKeys: readonly ForeignKey[];
  /** The arrays of references. */
  readonly links: readonly Links[];
  /** The column with the id of the user that owns a record: `self` may read its events. */
  readonly owner: string | undefined;
  /** Whether events store the record before each change. */
  readonly hasHistory: boolean;
  /** Whether the deletion of a record ends invitations. */
  readonly isInviting: boolean;
  /** How the records are distributed; undefined: they are in one PostgreSQL. */
  readonly distribution: Distribution | undefined;
}

/** The distribution of a collection's records on Citus. */
export interface Distribution {
  /** The column that decides the shard of a record; undefined: its id does. */
  readonly parent: string | undefined;
  /** The columns with unique values, which no index can enforce. */
  readonly unique: readonly string[];
}

/** The table of a collection. */
export function tableOf(resource: Resource, { engine, schema }: Layout): Table {
  const { name, columns, references, callerField } = resource;
  const columnName = (field: string) => columns.get(field)!.name;
  const distribution = engine.isDistributed ? distributionOf(resource) : undefined;
  return {
    name,
    schema,
    sql: resource.table,
    columns: [...columns.values()],
    indexes: [
      ...resource.unique.map(({ fields }) => uniqueIndex(resource, fields, distribution)),
      ...resource.filterable.flatMap((field) => indexesOf(resource, field, columns.get(field)!)),
      ...(resource.sorts.has('updated_at')
        ? [index(objectName(name, 'updated_at', ''), '(updated_at, id)', ['updated_at', 'id'])]
        : []),
      ...searchIndexes(resource),
    ],
    foreignKeys: references.flatMap((reference) => foreignKeyOf(resource, reference)),
    links: linksOf(resource),
    owner: callerField === 'id' ? 'id' : callerField && columnName(callerField),
    hasHistory: resource.hasHistory,
    isInviting: resource.invited !== undefined,
    distribution,
  };
}

/** The foreign key of a reference to one record. */
function foreignKeyOf(
  { name, columns }: Resource,
  { field, to, table, onDelete, isList }: Reference,
): ForeignKey[] {
  if (isList || onDelete === 'remove') return [];
  const column = columns.get(field)!.name;
  const names = { name: referenceName(name, column), nullName: nullName(name, column) };
  return [{ ...names, field, column, to, target: table, onDelete }];
}

function distributionOf(resource: Resource): Distribution {
  const { columns, unique } = resource;
  return {
    parent: shardColumn(resource),
    unique: unique.flatMap(({ fields: [field, ...more] }) =>
      more.length === 0 ? [columns.get(field!)!.name] : [],
    ),
  };
}

/** On Citus an index enforces unique values within a shard only: those of one column are in a table of their own. */
function uniqueIndex(
  { name, columns }: Resource,
  fields: readonly string[],
  distribution: Distribution | undefined,
): Index {
  const own = fields.map((field) => columns.get(field)!);
  const names = own.map((column) => column.name);
  const isUnique = distribution === undefined || names.length > 1;
  return index(
    uniqueName(name, names),
    `(${own.map((column) => comparable(column)).join(', ')})`,
    names,
    isUnique,
  );
}

const index = (
  name: ObjectName,
  definition: string,
  columns: readonly string[],
  isUnique = false,
): Index => ({ name, definition, isUnique, columns });

/** The indexes for filters and orders. Records without the field are last in both directions, which takes two indexes. */
function indexesOf({ name: table, schema, sortable }: Resource, field: string, column: Column): Index[] {
  const { name, type } = column;
  const expression = comparable(column);
  if (type.endsWith('[]')) return [index(objectName(table, name, 'has'), `using gin (${name})`, [name])];
  const one = index(objectName(table, name, ''), `(${expression}, id)`, [name, 'id']);
  if (type === 'uuid') return [one];
  // Unique values that are not sortable are found by the index that makes them unique.
  if (!sortable.includes(field)) return [];
  if (type === 'boolean' || (type === 'text' && schema.required.includes(field))) return [one];
  return (['asc', 'desc'] as const).map((direction) =>
    index(objectName(table, name, direction), `(${expression} ${direction} nulls last, id ${direction})`, [
      name,
      'id',
    ]),
  );
}

/**
 * Trigrams, and for terms of less than three characters their beginnings; and the index of words. The fields and the language are
 * part of the name, so that others make another index.
 */
function searchIndexes(resource: Resource): Index[] {
  const { name, searchable, words, columns } = resource;
  const gin = (kind: string, suffix: string, expression: string, fields: readonly string[]) =>
    index(
      objectName(name, '', kind, suffix),
      `using gin (${expression})`,
      fields.map((field) => columns.get(field)!.name),
    );
  const text = searchable.length === 0 ? '' : searchSql(resource);
  const suffix = searchable.length === 1 ? '' : hashOf(text);
  const ofWords = words.length === 0 ? '' : wordsSql(resource);
  return [
    ...(text === ''
      ? []
      : [
          gin('search', suffix, `${text} gin_trgm_ops`, searchable),
          gin('grams', suffix, `grams(${text})`, searchable),
        ]),
    ...(ofWords === '' ? [] : [gin('words', hashOf(ofWords), ofWords, words)]),
  ];
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 8);
