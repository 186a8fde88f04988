import { type Column, LINKED_RECORD as RECORD } from '../collection/column.js';
import type { Resource } from '../collection/resource.js';
import type { Engine } from '../database-url/engine.js';
import { joined, type Parameter, type SymbolSql } from './comparison-sql.js';
import { type Access, hidesFields, type RelationCondition } from './condition.js';

/** The rows of a source. */
interface Rows {
  readonly depth?: number;
  readonly name?: string;
  /** The table of the rows, if they are former states of records; undefined: they are not. */
  readonly states?: string | undefined;
  /** Whether the rows are records as they are stored, with all fields: the links of an array of references are about these. */
  readonly isStored?: boolean;
  /** The values of the caller for the symbols of conditions; absent: the conditions have none. */
  readonly symbols?: SymbolSql | undefined;
}

/** The records about which a condition is: those of the list, or of a relation within it. */
export class Source {
  constructor(
    readonly resource: Resource,
    readonly parameter: Parameter,
    readonly engine: Engine,
    readonly rows: Rows = {},
  ) {}

  get name(): string {
    return this.rows.name ?? 'record';
  }

  /**
   * SQL that is true if all terms are, or any of them. Without terms, `or` is false: on Citus, a comparison that no record
   * passes, since Citus refuses outer joins beside a constant condition before PostgreSQL 17.
   */
  joined(terms: readonly string[], word: 'and' | 'or'): string {
    const isNever = terms.length === 0 && word === 'or';
    return isNever && !this.engine.correlates ? `${this.name}.id is null` : joined(terms, word);
  }

  of(other: Resource, access: Access | undefined): Source {
    const { depth: above = 0, symbols } = this.rows;
    const depth = above + 1;
    const rows = { depth, name: `related_${depth}`, isStored: !hidesFields(access), symbols };
    return new Source(other, this.parameter, this.engine, rows);
  }
}

/** A join with related records: a source that precedes theirs, if one is needed, and a condition. */
interface Way {
  readonly links: string;
  readonly refers: string;
}

/** How a field leads to related records. An array whose records have no links, since they are not stored so, has the ids itself. */
export function wayFrom(
  { name: from, rows: { depth = 0, isStored } }: Source,
  name: string,
  { links, name: own }: Column,
  key: string,
): Way {
  if (links === undefined) return { links: '', refers: `${name}.id = ${from}.${key}` };
  if (!isStored) return { links: '', refers: `${name}.id = any (${from}.${own})` };
  const link = `link_${depth}`;
  return {
    links: `${links} as ${link}, `,
    refers: `${link}.${RECORD} = ${from}.id and ${name}.id = ${link}.${own}`,
  };
}

/** How records lead to those that refer to them. */
export function waysTo(
  id: string,
  { name, rows: { depth = 0, isStored = false } }: Source,
  referring: readonly Column[],
): Way[] {
  const isLinked = ({ links }: Column) => links !== undefined && isStored;
  const plain = referring
    .filter((column) => !isLinked(column))
    .map(({ name: own, links }) =>
      links === undefined ? `${name}.${own} = ${id}` : `${name}.${own} @> array[${id}]`,
    );
  const linked = referring.filter(isLinked).map(({ name: own, links }): Way => {
    const link = `link_${depth}`;
    return {
      links: `${links} as ${link}, `,
      refers: `${link}.${own} = ${id} and ${name}.id = ${link}.${RECORD}`,
    };
  });
  return [...(plain.length === 0 ? [] : [{ links: '', refers: joined(plain, 'or') }]), ...linked];
}

/**
 * SQL that is true if no related record is found, which `absent` says. Of former states, it is false as well if records on which the
 * relation depended do not exist any more: deletions have changed those that refer to them.
 */
export function absentSql(
  source: Source,
  other: Resource,
  own: RelationCondition['own'],
  absent: string,
): string {
  const { states } = source.rows;
  return states === undefined ? absent : `(${presenceSql(source, states, other, own)} and ${absent})`;
}

/** SQL that is true if the records on which a relation depends still exist. Citus reads those of all states first. */
function presenceSql(source: Source, states: string, other: Resource, own: RelationCondition['own']): string {
  const exists = (resource: Resource, id: string) =>
    source.engine.correlates
      ? `exists (select from ${resource.table} as present where present.id = ${source.name}.${id})`
      : `${source.name}.${id} in (
      select present.id from ${resource.table} as present where present.id in (select state.${id} from ${states} as state)
    )`;
  if (!own) return exists(source.resource, 'id');
  if (own.links !== undefined)
    return `not exists (
      select from unnest(${source.name}.${own.name}) as given (id)
      where not exists (select from ${other.table} as present where present.id = given.id)
    )`;
  return `(${source.name}.${own.name} is null or ${exists(other, own.name)})`;
}

/** Where the links of an array of references are; undefined: the column has one id. */
const linksOf = ({ columns }: Resource, column: string): string | undefined =>
  [...columns.values()].find(({ name }) => name === column)?.links;

/** The records among a source that refer by a column to `given.id`, in the order of the index. `records` has no conditions. */
export function referringSql(resource: Resource, column: string, records: string): string {
  const links = linksOf(resource, column);
  if (links === undefined) return `${records} where record.${column} = given.id`;
  // A column that the caller may not read has no value.
  return `${links} as link join ${records} on record.id = link.${RECORD}
    where link.${column} = given.id and record.${column} is not null`;
}

/** The records among a source that refer by a column to one of $1, each with the one to which it refers. */
export function pairsSql(resource: Resource, column: string, records: string): string {
  const links = linksOf(resource, column);
  if (links === undefined)
    return `select record.${column} as parent, record.id from ${records} where record.${column} = any ($1::uuid[])`;
  return `select link.${column} as parent, record.id from ${links} as link join ${records} on record.id = link.${RECORD}
    where link.${column} = any ($1::uuid[]) and record.${column} is not null`;
}
