import { createHash } from 'node:crypto';
import type { Column } from '../collection/column.js';
import { comparable, type Resource, referenceName, searchSql, uniqueName } from '../collection/resource.js';
import type { Engine } from '../db/engine.js';

/** An index that a declaration needs. Its name says what it is, so that an index of this name is never another one. */
export interface Index {
  readonly name: string;
  /** What follows `on <table>` in its definition. */
  readonly definition: string;
  readonly isUnique: boolean;
}

/** A foreign key that a declaration needs. */
export interface ForeignKey {
  readonly name: string;
  readonly field: string;
  readonly column: string;
  readonly to: string;
  readonly onDelete: 'cascade' | 'restrict' | 'null';
}

/** The table that a declaration needs, besides what all collections have. */
export interface Table {
  readonly name: string;
  readonly columns: readonly Column[];
  readonly indexes: readonly Index[];
  readonly foreignKeys: readonly ForeignKey[];
  /** The column with the id of the user that owns a record: `self` may read its events. */
  readonly owner: string | undefined;
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
export function tableOf(resource: Resource, engine: Engine): Table {
  const { name, columns, references } = resource;
  const columnName = (field: string) => columns.get(field)!.name;
  const distribution = engine === 'citus' ? distributionOf(resource) : undefined;
  return {
    name,
    columns: [...columns.values()],
    indexes: [
      ...resource.unique.map(({ field }) => uniqueIndex(name, columns.get(field)!, !distribution)),
      ...resource.filterable.flatMap((field) => indexesOf(resource, field, columns.get(field)!)),
      ...searchIndexes(resource),
    ],
    foreignKeys: references.map(({ field, to, onDelete }) => ({
      name: referenceName(name, columnName(field)),
      field,
      column: columnName(field),
      to,
      onDelete,
    })),
    owner: resource.owner ? 'id' : resource.isOwned ? columnName(resource.parent!.field) : undefined,
    distribution,
  };
}

/** Children are in the shard of their parent, if each has one for as long as it exists. */
function distributionOf({ columns, parent, schema, unique }: Resource): Distribution {
  const hasParent = parent && parent.onDelete !== 'null' && schema.required.includes(parent.field);
  return {
    parent: hasParent ? columns.get(parent.field)!.name : undefined,
    unique: unique.map(({ field }) => columns.get(field)!.name),
  };
}

function uniqueIndex(table: string, column: Column, isUnique: boolean): Index {
  return { name: uniqueName(table, column.name), definition: `(${comparable(column)})`, isUnique };
}

/** The indexes for filters and orders. Records without the field are last in both directions, which takes two indexes. */
function indexesOf({ name: table, schema, sortable }: Resource, field: string, column: Column): Index[] {
  const index = (suffix: string, definition: string): Index => ({
    name: `${table}_${column.name}${suffix}`,
    definition,
    isUnique: false,
  });
  const expression = comparable(column);
  if (column.type.endsWith('[]')) return [index('_has', `using gin (${column.name})`)];
  if (column.type === 'uuid') return [index('', `(${expression}, id)`)];
  // Unique values that are not sortable are found by the index that makes them unique.
  if (!sortable.includes(field)) return [];
  if (column.type === 'boolean' || (column.type === 'text' && schema.required.includes(field)))
    return [index('', `(${expression}, id)`)];
  return (['asc', 'desc'] as const).map((direction) =>
    index(`_${direction}`, `(${expression} ${direction} nulls last, id ${direction})`),
  );
}

/** Trigrams, and for terms of less than three characters their beginnings. */
function searchIndexes(resource: Resource): Index[] {
  const { name, searchable } = resource;
  if (searchable.length === 0) return [];
  const text = searchSql(resource);
  // The fields are part of the name, so that other fields make another index.
  const suffix =
    searchable.length === 1 ? '' : `_${createHash('sha256').update(text).digest('hex').slice(0, 8)}`;
  return [
    { name: `${name}_search${suffix}`, definition: `using gin (${text} gin_trgm_ops)`, isUnique: false },
    { name: `${name}_grams${suffix}`, definition: `using gin (grams(${text}))`, isUnique: false },
  ];
}
