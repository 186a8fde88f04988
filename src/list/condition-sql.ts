import type { Resource } from '../collection/resource.js';
import type { Engine } from '../db/engine.js';
import { comparisonSql, joined, type Parameter, parametersIn } from './comparison-sql.js';
import { type Condition, EVERYTHING, type RelationCondition, type Selection } from './condition.js';
import { searchTerm } from './search-sql.js';

/**
 * The records that a selection selects, as the source `record` of a statement. Each condition on the records of a list
 * is added here. Names come from the declaration, values are parameters.
 */
export function recordsSql(
  resource: Resource,
  selection: Selection,
  parameter: Parameter,
  engine: Engine,
): string {
  const terms = termsOf(resource, selection, parameter, engine);
  return `${resource.table} as record${terms.length === 0 ? '' : ` where ${terms.join(' and ')}`}`;
}

/** The records that a selection selects, as a source of another name in a larger statement. */
export const sourceSql = (
  resource: Resource,
  name: string,
  selection: Selection = EVERYTHING,
  parameter: Parameter = parametersIn([]),
  engine: Engine = 'postgresql',
): string => `(select record.* from ${recordsSql(resource, selection, parameter, engine)}) as ${name}`;

/** The conditions of a selection, all of which must hold. */
function termsOf(
  resource: Resource,
  { conditions, parent, search }: Selection,
  parameter: Parameter,
  engine: Engine,
): string[] {
  const source = new Source(resource, parameter, engine);
  const terms = conditions.map((condition) => conditionSql(source, condition));
  if (parent !== undefined) terms.push(`${parentColumn(resource)} = ${parameter(parent, 'uuid')}`);
  const matches = search.map((term) => searchTerm(resource, term, parameter));
  if (matches.length > 0) terms.push(matches.length === 1 ? matches[0]! : `(${matches.join(' or ')})`);
  return terms;
}

/** The records about which a condition is: those of the list, or of a relation within it. */
class Source {
  constructor(
    readonly resource: Resource,
    readonly parameter: Parameter,
    readonly engine: Engine,
    readonly depth = 0,
  ) {}

  get name(): string {
    return this.depth === 0 ? 'record' : `related_${this.depth}`;
  }

  of(other: Resource): Source {
    return new Source(other, this.parameter, this.engine, this.depth + 1);
  }
}

/** SQL that is true if a condition holds. It is false or null otherwise, so that it is never negated as a whole. */
function conditionSql(source: Source, condition: Condition): string {
  switch (condition.kind) {
    case 'comparison':
      return comparisonSql(source.resource, source.name, condition, source.parameter);
    case 'relation':
      return relationSql(source, condition);
    case 'not':
      return joined(
        condition.conditions.map((each) => negationSql(source, each)),
        'or',
      );
    default:
      return joined(
        condition.conditions.map((each) => conditionSql(source, each)),
        condition.kind,
      );
  }
}

/** SQL that is true if a condition does not hold. Existence is negated as `not exists`, which the planner joins by. */
function negationSql(source: Source, condition: Condition): string {
  switch (condition.kind) {
    case 'comparison':
      return `(${comparisonSql(source.resource, source.name, condition, source.parameter)}) is not true`;
    case 'relation': {
      const { quantifier } = condition;
      return relationSql(source, condition, quantifier === 'none' || quantifier === 'every');
    }
    case 'not':
      return joined(
        condition.conditions.map((each) => conditionSql(source, each)),
        'and',
      );
    default:
      return joined(
        condition.conditions.map((each) => negationSql(source, each)),
        condition.kind === 'and' ? 'or' : 'and',
      );
  }
}

/**
 * Whether there are related records for which the conditions hold, or with `isNegated` do not. Citus reads the related records
 * of all shards first, since it joins no tables by other columns than those that distribute them.
 */
function relationSql(
  source: Source,
  { quantifier, other, own, referring, conditions }: RelationCondition,
  exists = quantifier === 'one' || quantifier === 'some',
  isNegated = quantifier === 'every',
): string {
  const related = source.of(other);
  const { name } = related;
  const terms = isNegated
    ? [negationSql(related, { kind: 'and', conditions })]
    : conditions.map((condition) => conditionSql(related, condition));
  const from = `${other.table} as ${name}`;
  const [mine, theirs] = own ? [own.name, ['id']] : ['id', referring.map((column) => column.name)];
  if (source.engine === 'postgresql') {
    const refers = theirs.map((column) => `${name}.${column} = ${source.name}.${mine}`);
    const all = [joined(refers, 'or'), ...terms].join(' and ');
    return `${exists ? '' : 'not '}exists (select from ${from} where ${all})`;
  }
  const among = theirs.map((column) => {
    const all = [`${name}.${column} is not null`, ...terms].join(' and ');
    return `${source.name}.${mine} in (select ${name}.${column} from ${from} where ${all})`;
  });
  return exists ? joined(among, 'or') : `(${joined(among, 'or')}) is not true`;
}

/** Whether a selection is less than all records. */
export const isRestricted = ({ conditions, parent, search }: Selection): boolean =>
  conditions.length > 0 || parent !== undefined || search.length > 0;

/** The number of records that a selection selects. All records of a collection are not counted: triggers record their number. */
export function totalSql({ name }: Resource, selection: Selection, records: string): string {
  if (isRestricted(selection)) return `select count(*) as total from ${records}`;
  return `select coalesce((select total from blocks where collection = '${name}'), 0)
    + coalesce((select sum(delta) from counts where collection = '${name}'), 0)::bigint as total`;
}

/** The column that names the parent record. */
export function parentColumn({ columns, parent }: Resource): string {
  return columns.get(parent?.field ?? '')?.name ?? '';
}
