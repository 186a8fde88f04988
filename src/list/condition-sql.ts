import { comparable, type Resource, searchSql } from '../collection/resource.js';
import type { Value } from '../db/db.js';
import { type Condition, EVERYTHING, type Selection } from './filter.js';

/** Adds a value to a statement, and returns the expression for it. */
export type Parameter = (value: string, type?: string) => string;

/** Adds values to the parameters of a statement. */
export function parametersIn(args: Value[]): Parameter {
  return (value, type = 'text') => {
    args.push(value);
    return `$${args.length}::${type}`;
  };
}

/**
 * The records that a selection selects, as the source `record` of a statement. Each condition on the records of a list
 * is added here. Names come from the declaration, values are parameters.
 */
export function recordsSql(resource: Resource, selection: Selection, parameter: Parameter): string {
  const terms = termsOf(resource, selection, parameter);
  return `${resource.table} as record${terms.length === 0 ? '' : ` where ${terms.join(' and ')}`}`;
}

/** The records that a selection selects, as a source of another name in a larger statement. */
export const sourceSql = (
  resource: Resource,
  name: string,
  selection: Selection = EVERYTHING,
  parameter: Parameter = parametersIn([]),
): string => `(select record.* from ${recordsSql(resource, selection, parameter)}) as ${name}`;

/** The conditions of a selection, all of which must hold. */
function termsOf(
  resource: Resource,
  { conditions, parent, search }: Selection,
  parameter: Parameter,
): string[] {
  const terms = conditions.map((condition) => termOf(resource, condition, parameter));
  if (parent !== undefined) terms.push(`${parentColumn(resource)} = ${parameter(parent, 'uuid')}`);
  const matches = search.map((term) => searchTerm(resource, term, parameter));
  if (matches.length > 0) terms.push(matches.length === 1 ? matches[0]! : `(${matches.join(' or ')})`);
  return terms;
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

/** Whether the index of trigrams finds a text: trigrams need three letters or digits in a row. */
export const hasTrigram = (term: string): boolean => /[\p{L}\p{N}]{3}/u.test(term);

/** The value with which the SQL of a search compares. */
export const searchValue = (term: string): string => (hasTrigram(term) ? `%${escaped(term)}%` : term);

/**
 * A term without a trigram is looked up by its first one or two characters. It is compared by strpos, since `like` would
 * make the planner read all of the index of trigrams too.
 */
function searchTerm(resource: Resource, term: string, parameter: Parameter): string {
  const text = searchSql(resource);
  const value = `lower(${parameter(searchValue(term))})`;
  if (hasTrigram(term)) return `${text} like ${value}`;
  return `(grams(${text}) @> array[left(${value}, 2)] and strpos(${text}, ${value}) > 0)`;
}

const SIGNS = { eq: '=', ne: '<>', lt: '<', lte: '<=', gt: '>', gte: '>=' };

function termOf(resource: Resource, { column, operator, values }: Condition, parameter: Parameter): string {
  const { name, type } = column;
  const element = type.replace('[]', '');
  const [value = ''] = values;
  switch (operator) {
    case 'null':
      return `${name} is ${value === 'true' ? '' : 'not '}null`;
    case 'in':
      return `${comparable(column)} = any (array(select element::${element} from json_array_elements_text(${parameter(JSON.stringify(values))}::json) as element))`;
    case 'has':
      return `${name} @> array[${parameter(value, element)}]`;
    case 'prefix': {
      // A range, which the index of the order serves. U+10FFFF follows every other character.
      const from = parameter(value);
      return `${comparable(column)} >= ${from} and ${comparable(column)} <= ${from} || chr(1114111)`;
    }
    case 'contains': {
      // The first part is what the index of the search has; the second is about this field alone.
      const pattern = `lower(${parameter(`%${escaped(value)}%`)})`;
      const own = `lower(${name}) like ${pattern}`;
      return resource.searchable.length === 1 ? own : `${searchSql(resource)} like ${pattern} and ${own}`;
    }
    default:
      // The driver would read a boolean parameter as a JavaScript value.
      return `${comparable(column)} ${SIGNS[operator]} ${parameter(value, element === 'boolean' ? 'text::boolean' : element)}`;
  }
}

const escaped = (text: string) => text.replace(/[\\%_]/g, '\\$&');
