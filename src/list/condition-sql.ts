import { parentColumn, RANK, type Resource } from '../collection/resource.js';
import type { Engine } from '../database-url/engine.js';
import { readableColumns } from '../policy/column-mask.js';
import { comparisonSql, joined, type Parameter, searchTerm, symbolParameters } from './comparison-sql.js';
import {
  type Access,
  type Condition,
  type ExpressedSelection,
  hidesFields,
  isRestricted,
  type RelationCondition,
  type Selection,
} from './condition.js';
import { absentSql, Source, wayFrom, waysTo } from './record-source.js';
import { hasWords, querySql, rankSql } from './words.js';

/**
 * The records that a selection selects, as the source `record` of a statement. Each condition on the records of a list
 * is added here. Names come from the declaration, values are parameters. `table` may be a source of rows with its columns. With
 * `needsRelated`, the rows are former states of records: where the related records of a state have been deleted, a condition that
 * none of them fulfils another one does not hold.
 */
export function recordsSql(
  resource: Resource,
  selection: ExpressedSelection,
  parameter: Parameter,
  engine: Engine,
  table = resource.table,
  needsRelated = false,
): string {
  const source = accessibleSql(resource, 'record', selection.access, parameter, engine, table);
  const { words } = selection;
  const query = words && querySql(resource, parameter(words.query));
  const isStored = table === resource.table && !hidesFields(selection.access);
  const records = new Source(resource, parameter, engine, {
    states: needsRelated ? table : undefined,
    isStored,
    symbols: selection.symbolValues && symbolParameters(selection.symbolValues, parameter),
  });
  const terms = termsOf(records, selection, query);
  const selected = `${source}${terms.length === 0 ? '' : ` where ${terms.join(' and ')}`}`;
  if (!words?.isRanked) return selected;
  // With an offset, the planner computes the relevance once for each record. "and" can precede further conditions.
  return `(select record.*, ${rankSql(resource, query!)} as ${RANK.name} from ${selected} offset 0) as record where true`;
}

/**
 * The records that a caller may read, as a source of a statement, whose columns have no values of other fields than it may read.
 * Conditions, orders and groups thus treat other records and fields as if there were none.
 */
export function accessibleSql(
  resource: Resource,
  name: string,
  access: Access | undefined,
  parameter: Parameter,
  engine: Engine,
  table = resource.table,
): string {
  if (!access) return `${table} as ${name}`;
  const rows = { isStored: table === resource.table, symbols: symbolParameters(access.values, parameter) };
  const holds = (conditions: readonly Condition[], source = 'granted') =>
    grantSql(new Source(resource, parameter, engine, { ...rows, name: source }), conditions);
  const granted = new Source(resource, parameter, engine, { name: 'granted' });
  const { columns, joins } = readableColumns(granted, access, holds);
  const alternatives = access.alternatives.map((each) => holds(each));
  const from = `from ${table} as granted${joins} where`;
  // The planner joins related records of one alternative, and would examine each record of a collection for several. Citus would
  // gather the ids of all alternatives.
  const where =
    access.isSelective && alternatives.length > 1 && table === resource.table && engine.correlates
      ? `granted.id in (${alternatives.map((each) => `select granted.id ${from} ${each}`).join(' union all ')})`
      : granted.joined(alternatives, 'or');
  return `(select ${columns} ${from} ${where}) as ${name}`;
}

/** SQL that is true if all conditions of a grant hold for a record of a source. */
export const grantSql = (records: Source, conditions: readonly Condition[]): string =>
  conditionSql(records, { kind: 'and', conditions });

/** All records of a collection, as a source of a name in a larger statement. */
export const sourceSql = ({ table }: Resource, name: string): string =>
  `(select record.* from ${table} as record) as ${name}`;

/** The conditions of a selection, all of which must hold. */
function termsOf(
  source: Source,
  { conditions, expressions = [], parent, search }: ExpressedSelection,
  query: string | undefined,
): string[] {
  const { resource, parameter } = source;
  const terms = conditions.map((condition) => conditionSql(source, condition));
  terms.push(...expressions.map((expression) => expression(source.name, parameter)));
  if (parent !== undefined) terms.push(`${parentColumn(resource)} = ${parameter(parent, 'uuid')}`);
  const matches = search.map((term) => searchTerm(resource, term, parameter));
  if (query !== undefined) matches.push(hasWords(resource, query));
  if (matches.length > 0) terms.push(joined(matches, 'or'));
  return terms;
}

/**
 * SQL that is true if a condition holds, or with `isNegated` if it does not. It is false or null otherwise, so that it is never
 * negated as a whole. Existence is negated as `not exists`, which the planner joins by.
 */
function conditionSql(source: Source, condition: Condition, isNegated = false): string {
  switch (condition.kind) {
    case 'comparison': {
      const { resource, name, parameter } = source;
      const given = condition.symbol && source.rows.symbols?.(condition.symbol);
      // A comparison with a value that the caller does not have never holds.
      const compared =
        condition.symbol && !given
          ? source.joined([], 'or')
          : comparisonSql(resource, name, condition, parameter, given);
      return isNegated ? `(${compared}) is not true` : compared;
    }
    case 'relation': {
      const { quantifier } = condition;
      return relationSql(source, condition, (quantifier === 'one' || quantifier === 'some') !== isNegated);
    }
    default: {
      // "not" is a negated "and".
      const isInverted = isNegated !== (condition.kind === 'not');
      const terms = condition.conditions.map((each) => conditionSql(source, each, isInverted));
      return source.joined(terms, (condition.kind === 'or') === isInverted ? 'and' : 'or');
    }
  }
}

/**
 * Whether there are related records for which the conditions hold, or with `isNegated` do not. Citus reads the related records
 * of all shards first: it joins no tables by other columns than those that distribute them.
 */
function relationSql(
  source: Source,
  { quantifier, other, own, referring, conditions, access }: RelationCondition,
  exists: boolean,
  isNegated = quantifier === 'every',
  key = own?.name ?? 'id',
): string {
  // Records that refer to the related record prove that it exists: the statement need not read it.
  const isOne = own !== undefined && own.links === undefined;
  if (isOne && exists && !isNegated && !access && conditions.length > 0 && conditions.every(isReferred))
    return joined(
      conditions.map((each) => relationSql(source, each, true, false, key)),
      'and',
    );
  const related = source.of(other, access);
  const { name } = related;
  const terms = isNegated
    ? [conditionSql(related, { kind: 'and', conditions }, true)]
    : conditions.map((condition) => conditionSql(related, condition));
  const from = accessibleSql(other, name, access, source.parameter, source.engine);
  const { correlates } = source.engine;
  const whereAll = (first: string) => [first, ...terms].join(' and ');
  const ways = own ? [wayFrom(source, name, own, key)] : waysTo(`${source.name}.${key}`, related, referring);
  const theirs = own ? ['id'] : referring.map((column) => column.name);
  const found = joined(
    correlates
      ? ways.map(({ links, refers }) => `exists (select from ${links}${from} where ${whereAll(refers)})`)
      : theirs.map(
          (column) =>
            `${source.name}.${key} in (select ${name}.${column} from ${from} where ${whereAll(`${name}.${column} is not null`)})`,
        ),
    'or',
  );
  if (exists) return found;
  return absentSql(source, other, own, correlates ? `not ${found}` : `(${found}) is not true`);
}

/** Whether a condition holds if there is a record that refers to the one that the condition is about. */
const isReferred = (condition: Condition): condition is RelationCondition =>
  condition.kind === 'relation' && !condition.own && condition.quantifier === 'some';

/** The number of records that a selection selects. All records of a collection are not counted: triggers record their number. */
export function totalSql({ name }: Resource, selection: Selection, records: string): string {
  if (isRestricted(selection)) return `select count(*) as total from ${records}`;
  return `select coalesce((select total from blocks where collection = '${name}'), 0)
    + coalesce((select sum(delta) from counts where collection = '${name}'), 0)::bigint as total`;
}
