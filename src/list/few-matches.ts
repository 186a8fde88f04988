import type { Resource } from '../collection/resource.js';
import { comparisonSql, type Parameter } from './comparison-sql.js';
import { type Condition, isSearch, type Selection } from './condition.js';
import { accessibleSql } from './condition-sql.js';

/** The most records, and the most related ones of each relation, that few matches are. */
export const MAX_MATCHES = 2000;

/** The most indexes that one statement reads. */
const MAX_SCANS = 8;

/**
 * The parts of the statement `page_few` for a selection whose only condition is an equality, or alternatives of them, also about
 * related records. Each index is read up to a limit and in no order, so that one plan is good for all values. If one of the queries
 * has more than MAX_MATCHES rows, records are missing. Undefined: the selection has other conditions. `keys` are further columns.
 */
export function fewMatches(
  resource: Resource,
  selection: Selection,
  keys: string,
  parameter: Parameter,
): Readonly<Record<string, string>> | undefined {
  const [condition, ...others] = selection.conditions;
  const { parent, access } = selection;
  if (!condition || others.length > 0 || parent !== undefined || access || isSearch(selection))
    return undefined;
  const scans = new Scans(parameter);
  const matches = scans.query(resource, condition, `record.id${keys}`, 'union');
  if (matches === undefined) return undefined;
  const counts = scans.related.map((_, at) => `, (select count(*) from related_${at + 1})`);
  return {
    related: scans.related.map((query, at) => `related_${at + 1} as materialized (${query}), `).join(''),
    matches,
    most: `greatest(count(*)${counts.join('')})`,
    max_matches: String(MAX_MATCHES),
  };
}

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
    const queries: string[] = [];
    for (const each of alternatives) {
      const term = ++this.#scans > MAX_SCANS ? undefined : this.#term(resource, each);
      if (term === undefined) return undefined;
      queries.push(`(select ${columns} from ${source} where ${term} limit ${MAX_MATCHES + 1})`);
    }
    return queries.join(` ${word} `);
  }

  /** A condition that an index has; undefined: none has it. */
  #term(resource: Resource, condition: Condition): string | undefined {
    if (condition.kind === 'comparison') {
      const isIndexed = condition.operator === 'eq' && resource.filterable.includes(condition.field);
      return isIndexed ? comparisonSql(resource, 'record', condition, this.parameter) : undefined;
    }
    if (condition.kind !== 'relation') return undefined;
    const { quantifier, other, own, referring, conditions, access } = condition;
    const isFound = (quantifier === 'one' || quantifier === 'some') && conditions.length === 1 && !access;
    if (!isFound || (!own && referring.length > 1)) return undefined;
    const column = own ? 'id' : referring[0]!.name;
    const query = this.query(other, conditions[0]!, `record.${column} as id`, 'union all');
    if (query === undefined) return undefined;
    this.related.push(query);
    return `record.${own ? own.name : 'id'} = any (array(select id from related_${this.related.length}))`;
  }
}
