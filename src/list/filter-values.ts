import type { ColumnType } from '../collection/column.js';
import { normalizedText, type Resource } from '../collection/resource.js';
import { invalidQuery } from '../errors/input-errors.js';
import { Problem } from '../errors/problem.js';
import { isInexact } from '../http/strict-json.js';
import { parseUuid } from '../uuid.js';
import { instantOf, isFinerThanMilliseconds, TIME_FORMATS } from '../validation/times.js';
import {
  type ComparedColumn,
  type Comparison,
  comparedColumn,
  LIST_OPERATORS,
  MAX_VALUES,
  type Operator,
  type Symbolic,
} from './condition.js';
import type { FilterPlace } from './query-names.js';

/** Reads a value that a rule takes from a request, like `$caller`; undefined: the text is a value itself. Throws 400. */
export type ReadSymbol = (
  text: string,
  name: string,
  compared: Pick<Symbolic, 'isList' | 'read'> & { readonly column: ComparedColumn },
) => Symbolic | undefined;

/** The comparison of a field at a place of a filter. Throws 400. */
export function comparisonOf(
  { resource, symbols }: { readonly resource: Resource; readonly symbols: ReadSymbol | undefined },
  field: string,
  operator: string,
  { name, values, members }: FilterPlace,
  operators: readonly Operator[],
): Comparison {
  if (!(operators as readonly string[]).includes(operator))
    throw invalidQuery(name, `must have one of the operators ${operators.join(', ')}`);
  const [below] = members.values();
  if (below)
    throw invalidQuery(below.name, 'must be like filter[field][operator]: no name follows an operator');
  const column = comparedColumn(resource, field)!;
  const part = PARTS[operator as Operator];
  const read = (value: string) =>
    readValue(
      name,
      column,
      column.type === 'text' ? normalizedText(resource, field, value, part ?? 'whole') : value,
      part !== undefined,
    );
  const comparison = { kind: 'comparison', field, column, operator: operator as Operator } as const;
  const [first = '', ...more] = values;
  const isList = LIST_OPERATORS.has(operator);
  const attempt = (text: string) => {
    try {
      return read(text);
    } catch (error) {
      if (error instanceof Problem) return undefined;
      throw error;
    }
  };
  const symbol = more.length === 0 ? symbols?.(first, name, { column, isList, read: attempt }) : undefined;
  if (!symbol) return { ...comparison, values: valuesOf(name, operator as Operator, values, read) };
  if (part !== undefined || operator === 'null' || operator === 'between' || field === 'created_at')
    throw invalidQuery(name, `cannot be compared with ${first} by ${operator}`);
  if (symbol.through && !isComparable(column, symbol.through.type, isList))
    throw invalidQuery(name, `cannot be compared with ${first}, whose values have another type`);
  return { ...comparison, values: [], symbol };
}

/** Whether a field of the caller has values of a column's type, or for an operator with several values a list of these. */
function isComparable(column: ComparedColumn, type: ColumnType, isList: boolean): boolean {
  const own = column.type.replace('[]', '');
  if (!type.endsWith('[]')) return type === own;
  const element = type.replace('[]', '');
  // Ids are in lists of texts.
  return isList && (element === own || (element === 'text' && own === 'uuid'));
}

/** The part of a text with which an operator compares its values; absent: the whole text. */
const PARTS: Partial<Record<Operator, 'start' | 'any'>> = { prefix: 'start', contains: 'any' };

/** Several values are a list, or one text in which commas separate them. */
function valuesOf(
  name: string,
  operator: Operator,
  given: readonly string[],
  read: (value: string) => string,
): string[] {
  const [first = '', ...more] = given;
  if (!LIST_OPERATORS.has(operator)) {
    if (more.length > 0) throw invalidQuery(name, 'must be given once');
    return [operator === 'null' ? flagOf(name, first) : read(first)];
  }
  const values = more.length > 0 ? given : first.split(',');
  if (operator === 'between' && values.length !== 2)
    throw invalidQuery(name, 'must have two values, the least and the greatest');
  if (values.length > MAX_VALUES) throw invalidQuery(name, `has more than ${MAX_VALUES} values`);
  const texts = values.map(read);
  // An address repeats the only value of a list if the value has commas.
  return operator === 'between' ? texts : [...new Set(texts)];
}

function flagOf(name: string, text: string): string {
  if (text !== 'true' && text !== 'false') throw invalidQuery(name, 'must be true or false');
  return text;
}

/** A number as the text of a double. Throws 400. */
function numberOf(name: string, text: string): string {
  const isNumber = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text);
  if (!isNumber || !Number.isFinite(Number(text))) throw invalidQuery(name, 'must be a number');
  // A double near it would be equal to another value, whose records a write by filter would change.
  if (isInexact(text)) throw invalidQuery(name, 'must be a number that fits a double');
  return text;
}

/** A value as the text of the column's type. `isPart`: it is compared with a part of the stored text. */
function readValue(name: string, { type, format }: ComparedColumn, text: string, isPart: boolean): string {
  if (text.includes('\0')) throw invalidQuery(name, 'must not contain U+0000');
  switch (type.replace('[]', '')) {
    case 'double precision':
      return numberOf(name, text);
    case 'boolean':
      return flagOf(name, text);
    case 'uuid': {
      const id = parseUuid(text);
      if (id === undefined) throw invalidQuery(name, 'must be the id of a record');
      return id;
    }
    default:
      return format === undefined || isPart ? text : readTime(name, format, text);
  }
}

/** A date, a time or a duration. A date alone is the start of the day in UTC, as forms of browsers send it. */
function readTime(name: string, format: string, text: string): string {
  const isDate = TIME_FORMATS.date!(text);
  const value = format === 'date-time' ? instantOf(isDate ? `${text}T00:00:00Z` : text) : text;
  if (value === undefined || !TIME_FORMATS[format]!(value))
    throw invalidQuery(
      name,
      `must be a ${format} as in RFC 3339${ZONED.has(format) ? ', with its zone' : ''}`,
    );
  if (format === 'date-time' && isFinerThanMilliseconds(text))
    throw invalidQuery(name, 'must not be finer than milliseconds');
  return value;
}

const ZONED: ReadonlySet<string> = new Set(['date-time', 'time']);
