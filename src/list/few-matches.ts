import { comparable, type Resource } from '../collection/resource.js';
import { comparisonSql, joined, type Parameter } from './comparison-sql.js';
import {
  type Access,
  type ComparedColumn,
  type Comparison,
  type Condition,
  isSearch,
  type Selection,
} from './condition.js';
import { accessibleSql } from './condition-sql.js';

/** The most records, and the most related ones of each relation, that few matches are. */
export const MAX_MATCHES = 2000;

/** The most indexes that one statement reads. */
const MAX_SCANS = 8;

/** The parts of the statement of a page of few matches that depend on its conditions. */
export type FewMatches = Readonly<Record<'related' | 'matches' | 'most' | 'max_matches', string>>;

/**
 * The matches of a selection that one of its conditions finds: an equality, or alternatives of them, also about related records. The
 * others are comparisons of what it finds. Each index is read up to a limit and in no order, so that one plan is good for all values.
 * If one of the queries has more than MAX_MATCHES rows, records are missing. Undefined: the conditions are others. `keys` are further
 * columns.
 */
export function fewMatches(
  resource: Resource,
  conditions: readonly Condition[],
  finding: Condition,
  keys: string,
  parameter: Parameter,
): FewMatches | undefined {
  const scans = new Scans(parameter);
  const others = conditions.filter((each) => each !== finding);
  if (!others.every(({ kind }) => kind === 'comparison')) return undefined;
  const terms = others.map((each) => comparisonSql(resource, 'record', each as Comparison, parameter));
  const columns = `record.id${keys}${terms.length === 0 ? '' : `, (${joined(terms, 'and')}) as holds`}`;
  const found = scans.query(resource, finding, columns, 'union');
  if (found === undefined) return undefined;
  const queries = scans.related.map((query, at) => `related_${at + 1} as materialized (${query}), `);
  if (terms.length > 0) queries.push(`found as materialized (${found}), `);
  const counts = scans.related.map((_, at) => `, (select count(*) from related_${at + 1})`);
  return {
    related: queries.join(''),
    matches: terms.length === 0 ? found : 'select * from found where holds',
    most: `greatest(${terms.length === 0 ? 'count(*)' : '(select count(*) from found)'}${counts.join('')})`,
    max_matches: String(MAX_MATCHES),
  };
}

/**
 * The first matches in the order of the ids, which the index of an equality has: of one about related records, the first ones of
 * each of these. `most` is the number of matches, if they are counted, or of rows that are read. Undefined: the condition is another.
 */
export function nearMatches(
  { resource, direction, counts }: { resource: Resource; direction: string; counts: boolean },
  condition: Condition,
  [size, skipped, end]: readonly [size: string, skipped: string, end: string],
  parameter: Parameter,
): Readonly<Record<'related' | 'total' | 'near' | 'max_matches', string>> | undefined {
  const scans = new Scans(parameter);
  const term = scans.term(resource, condition);
  if (term === undefined) return undefined;
  const source = accessibleSql(resource, 'record', undefined, parameter, 'postgresql');
  const most = [counts ? 'count(*)' : '0'];
  // Compared with an array, the column remains part of the order, so that the planner never walks the index of the ids instead.
  const first = (column: ComparedColumn, value: string, limit: string) => {
    const key = comparable(column, 'record.');
    const order = `${key} ${direction}, record.id ${direction}`;
    return `select record.* from ${source} where ${key} = any (array[${value}]) order by ${order} limit ${limit}`;
  };
  let near: string;
  if (condition.kind === 'relation') {
    const [{ own, conditions }, last] = [condition, `related_${scans.related.length}`];
    // Alternatives would find a related record twice.
    if (!own || conditions[0]!.kind === 'or') return undefined;
    near = `select record.* from ${last} as related, lateral (${first(own, 'related.id', end)}) as record
      order by record.id ${direction} limit ${size} offset ${skipped}`;
    most.push(`(select count(*) from ${last}) * ${end}`);
  } else if (condition.kind === 'comparison') {
    const { column, values } = condition;
    const type = column.type === 'boolean' ? 'text::boolean' : column.type;
    near = first(column, parameter(values[0]!, type), `${size} offset ${skipped}`);
  } else return undefined;
  const matches = counts
    ? ` from (select from ${source} where ${term} limit ${MAX_MATCHES + 1}) as match`
    : '';
  most.push(...scans.related.map((_, at) => `(select count(*) from related_${at + 1})`));
  return {
    related: scans.related.map((query, at) => `related_${at + 1} as materialized (${query}), `).join(''),
    total: `select ${counts ? 'count(*)' : 'null::bigint'} as total, greatest(${most.join(', ')}) as most${matches}`,
    near,
    max_matches: String(MAX_MATCHES),
  };
}

/** The conditions of a selection that may have few matches, that on the parent included; none: it has others. */
export function fewConditions({ columns, parent }: Resource, selection: Selection): readonly Condition[] {
  const { conditions, parent: id } = selection;
  if (isSearch(selection) || conditions.length === 0 || conditions.length > MAX_SCANS) return [];
  const column = columns.get(parent?.field ?? '');
  if (id === undefined || !column) return id === undefined ? conditions : [];
  return [...conditions, { kind: 'comparison', field: parent!.field, column, operator: 'eq', values: [id] }];
}

/** The conditions of all that a caller may read, if it has to do with the caller; none: they are others. */
export function callersConditions({ isSelective, alternatives }: Access): readonly Condition[] {
  if (!isSelective) return [];
  if (alternatives.length === 1) return alternatives[0]!;
  const conditions = alternatives.flat();
  return alternatives.length === conditions.length ? [{ kind: 'or', conditions }] : [];
}

/** Whether an index may have the records of a condition: that of an equality, or those of its parts. */
export const mayFind = (resource: Resource, condition: Condition): boolean =>
  condition.kind === 'comparison'
    ? condition.operator === 'eq' && resource.filterable.includes(condition.field)
    : condition.kind === 'relation' || condition.kind === 'or';

class Scans {
  /** The queries for related records, which those after them read. */
  readonly related: string[] = [];
  #scans = 0;

  constructor(readonly parameter: Parameter) {}

  /** `union all` retains the number of rows, which tells whether a query has reached its limit. */
  query(
    resource: Resource,
    condition: Condition,
    columns: string,
    word: 'union' | 'union all',
  ): string | undefined {
    const alternatives = condition.kind === 'or' ? condition.conditions : [condition];
    const source = accessibleSql(resource, 'record', undefined, this.parameter, 'postgresql');
    if (alternatives.length === 0) return undefined;
    const queries: string[] = [];
    for (const each of alternatives) {
      const term = ++this.#scans > MAX_SCANS ? undefined : this.term(resource, each);
      if (term === undefined) return undefined;
      queries.push(`(select ${columns} from ${source} where ${term} limit ${MAX_MATCHES + 1})`);
    }
    return queries.join(` ${word} `);
  }

  /** SQL of a condition that an index has; undefined: none has it. */
  term(resource: Resource, condition: Condition): string | undefined {
    if (!mayFind(resource, condition)) return undefined;
    if (condition.kind === 'comparison') return comparisonSql(resource, 'record', condition, this.parameter);
    if (condition.kind !== 'relation') return undefined;
    const { quantifier, other, own, referring, conditions, access } = condition;
    const isFound = (quantifier === 'one' || quantifier === 'some') && conditions.length === 1 && !access;
    if (!isFound || (!own && referring.length > 1)) return undefined;
    if ([own, ...referring].some((column) => column?.links !== undefined)) return undefined;
    const column = own ? 'id' : referring[0]!.name;
    const query = this.query(other, conditions[0]!, `record.${column} as id`, 'union all');
    if (query === undefined) return undefined;
    this.related.push(query);
    return `record.${own ? own.name : 'id'} = any (array(select id from related_${this.related.length}))`;
  }
}
