import { comparable, type Resource, searchSql } from '../collection/resource.js';
import type { Value } from '../db/db.js';
import type { Comparison, Operator, Symbolic, SymbolValues } from './condition.js';

/** Adds a value to a statement, and returns the expression for it. */
export type Parameter = (value: string, type?: string) => string;

/** Adds values to the parameters of a statement. */
export function parametersIn(args: Value[]): Parameter {
  return (value, type = 'text') => {
    args.push(value);
    return `$${args.length}::${type}`;
  };
}

/** A value of the declaration, which is no parameter. */
export const literal: Parameter = (value, type = 'text') => `'${value.replaceAll("'", "''")}'::${type}`;

/** The SQL of a caller's value for a symbol as a type; undefined: the caller has none. */
export type SymbolSql = (symbol: Symbolic) => ((type: string) => string) | undefined;

/** The values for symbols as parameters of a statement. */
export const symbolParameters =
  (values: SymbolValues, parameter: Parameter): SymbolSql =>
  ({ place }) => {
    const value = values[place] ?? undefined;
    return value === undefined ? undefined : (type) => parameter(value, type);
  };

/** Conditions that are combined by a word. */
export const joined = (terms: readonly string[], word: 'and' | 'or'): string =>
  terms.length === 1
    ? terms[0]!
    : terms.length === 0
      ? String(word === 'and')
      : `(${terms.join(` ${word} `)})`;

const SIGNS = { eq: '=', ne: '<>', lt: '<', lte: '<=', gt: '>', gte: '>=' };

/**
 * A comparison with the column of a source of records. It is null for a record without the field. `given`: the value for the symbol
 * of the comparison.
 */
export function comparisonSql(
  resource: Resource,
  source: string,
  { field, column, operator, values, symbol }: Comparison,
  parameter: Parameter,
  given?: (type: string) => string,
): string {
  const name = `${source}.${column.name}`;
  if (field === 'created_at') return creationSql(name, operator, values, parameter);
  const element = column.type.replace('[]', '');
  const own = comparable(column, `${source}.`);
  const through = symbol?.through;
  const ofCaller = () =>
    `(select own.${through!.column} from ${through!.table} as own where own.id = ${given!('uuid')})`;
  const one = (value: string) => {
    if (through) return ofCaller();
    // The driver would read a boolean parameter as a JavaScript value.
    const type = element === 'boolean' ? 'text::boolean' : element;
    return given ? given(type) : parameter(value, type);
  };
  const list = () => {
    if (through) return through.type.endsWith('[]') ? `${ofCaller()}::${element}[]` : `array[${ofCaller()}]`;
    if (given) return given(`text::${element}[]`);
    return `array(select element::${element} from json_array_elements_text(${parameter(JSON.stringify(values))}::json) as element)`;
  };
  const [value = '', greatest = ''] = values;
  switch (operator) {
    case 'null':
      return `${name} is ${value === 'true' ? '' : 'not '}null`;
    case 'in':
      return `${own} = any (${list()})`;
    case 'nin':
      // No value at all differs from a value of an empty array, and from none.
      return `${given ? `${own} is not null and ` : ''}${own} <> all (${list()})`;
    case 'between':
      return `${own} between ${one(value)} and ${one(greatest)}`;
    case 'has':
      return `${name} @> array[${one(value)}]`;
    case 'any':
      return `${name} && ${list()}`;
    case 'prefix': {
      // A range, which the index of the order serves. U+10FFFF follows every other character.
      const from = parameter(value);
      return `${own} >= ${from} and ${own} <= ${from} || chr(1114111)`;
    }
    case 'contains': {
      // The first part is what the index of the search has; the second is about this field alone.
      const pattern = `lower(${parameter(`%${escaped(value)}%`)})`;
      const contains = `lower(${name}) like ${pattern}`;
      return resource.searchable.length === 1
        ? contains
        : `${searchSql(resource, `${source}.`)} like ${pattern} and ${contains}`;
    }
    default:
      return `${own} ${SIGNS[operator]} ${one(value)}`;
  }
}

/** A comparison of the time of creation, which is the beginning of the id: a range of ids. */
function creationSql(
  id: string,
  operator: Operator,
  values: readonly string[],
  parameter: Parameter,
): string {
  /** A comparison with the first id that was made some milliseconds after a time. */
  const made = (sign: '<' | '>=', time: string, after: 0 | 1) =>
    `${id} ${sign} first_id(${parameter(String(Math.max(Date.parse(time) + after, 0)), 'bigint')})`;
  const within = (first: string, last: string) => `(${made('>=', first, 0)} and ${made('<', last, 1)})`;
  const beside = (time: string) => `(${made('<', time, 0)} or ${made('>=', time, 1)})`;
  const [time = '', last = ''] = values;
  switch (operator) {
    case 'lt':
    case 'lte':
      return made('<', time, operator === 'lt' ? 0 : 1);
    case 'gt':
    case 'gte':
      return made('>=', time, operator === 'gt' ? 1 : 0);
    case 'between':
      return within(time, last);
    case 'ne':
    case 'nin':
      return joined(values.map(beside), 'and');
    default:
      return joined(
        values.map((each) => within(each, each)),
        'or',
      );
  }
}

/** Whether the index of trigrams finds a text: trigrams need three letters or digits in a row. */
export const hasTrigram = (term: string): boolean => /[\p{L}\p{N}]{3}/u.test(term);

/** The value with which a search compares. */
export const searchPattern = (term: string): string => (hasTrigram(term) ? `%${escaped(term)}%` : term);

/**
 * A term without a trigram is looked up by its first one or two characters. It is compared by strpos, since `like` would
 * make the planner read all of the index of trigrams too.
 */
export function searchTerm(resource: Resource, term: string, parameter: Parameter): string {
  const text = searchSql(resource);
  const value = `lower(${parameter(searchPattern(term))})`;
  if (hasTrigram(term)) return `${text} like ${value}`;
  return `(grams(${text}) @> array[left(${value}, 2)] and strpos(${text}, ${value}) > 0)`;
}

/** A text within a pattern of `like`. */
const escaped = (text: string) => text.replace(/[\\%_]/g, '\\$&');
