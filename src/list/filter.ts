import type { Column } from '../collection/column.js';
import { normalizedText } from '../collection/normalized-text.js';
import type { Resource } from '../collection/resource.js';
import { invalidQuery } from '../errors/input-errors.js';
import { parseUuid } from '../uuid.js';
import { instantOf, TIME_FORMATS } from '../validation/times.js';
import { readConditionName } from './query-names.js';

export const OPERATORS = [
  'eq',
  'ne',
  'lt',
  'lte',
  'gt',
  'gte',
  'in',
  'has',
  'prefix',
  'contains',
  'null',
] as const;
export type Operator = (typeof OPERATORS)[number];

/** One restriction of a list. */
export interface Condition {
  readonly field: string;
  readonly column: Column;
  readonly operator: Operator;
  /** One, or with `in` several; text of the column's type. */
  readonly values: readonly string[];
}

/** Which records a list contains. */
export interface Selection {
  readonly conditions: readonly Condition[];
  /** The texts of which a record contains one, as the searched fields store them; none: all records. */
  readonly search: readonly string[];
  /** The id of the parent whose records are listed; undefined: those of all parents. */
  readonly parent?: string;
}

export const EVERYTHING: Selection = { conditions: [], search: [] };

const MAX_CONDITIONS = 20;
export const MAX_VALUES = 100;
const COMPARISONS: readonly Operator[] = ['eq', 'ne', 'lt', 'lte', 'gt', 'gte', 'in', 'null'];

/** The operators of each field that lists can be filtered by. */
export function operatorsOf({
  filterable,
  searchable,
  columns,
}: Resource): ReadonlyMap<string, readonly Operator[]> {
  return new Map(
    [...new Set([...filterable, ...searchable])].map((field) => {
      const own = filterable.includes(field) ? byType(columns.get(field)!.type) : [];
      return [field, searchable.includes(field) ? [...own, 'contains' as const] : own];
    }),
  );
}

function byType(type: Column['type']): readonly Operator[] {
  if (type.endsWith('[]')) return ['has'];
  if (type === 'uuid' || type === 'boolean') return ['eq', 'ne', 'in', 'null'];
  return type === 'text' ? [...COMPARISONS, 'prefix'] : COMPARISONS;
}

/** Reads `filter[field]=value` and `filter[field][operator]=value`. Throws 400 that names what is valid. */
export function readFilter(given: URLSearchParams, resource: Resource): Condition[] {
  const names = [...new Set(given.keys())].filter((name) => /^filter(\[|$)/.test(name));
  // Most lists have no conditions, and the table of operators takes longer than the rest of their parameters.
  if (names.length === 0) return [];
  const fields = operatorsOf(resource);
  if (names.length > MAX_CONDITIONS)
    throw invalidQuery('filter', `has more than ${MAX_CONDITIONS} conditions`);
  return names.map((name) => {
    const named = readConditionName(name);
    if (!named) throw invalidQuery(name, 'must be like filter[field] or filter[field][operator]');
    const { field, operator } = named;
    const operators = fields.get(field);
    if (!operators)
      throw invalidQuery(
        name,
        `names no field that can be filtered by: there are ${listed([...fields.keys()])}`,
      );
    if (!(operators as readonly string[]).includes(operator))
      throw invalidQuery(name, `must have one of the operators ${operators.join(', ')}`);
    const column = resource.columns.get(field)!;
    const part = PARTS[operator as Operator];
    const normalized = (text: string) =>
      column.type === 'text' && operator !== 'null'
        ? normalizedText(resource, field, text, part ?? 'whole')
        : text;
    const read = (text: string) => readValue(name, column, normalized(text), part !== undefined);
    return {
      field,
      column,
      operator: operator as Operator,
      values: valuesOf(name, operator as Operator, given.getAll(name), read),
    };
  });
}

/** The part of a text with which an operator compares its values; absent: the whole text. */
const PARTS: Partial<Record<Operator, 'start' | 'any'>> = { prefix: 'start', contains: 'any' };

const listed = (names: readonly string[]) => (names.length === 0 ? 'none' : names.join(', '));

/** The list of `in` is separated by commas, or one parameter for each value. */
function valuesOf(
  name: string,
  operator: Operator,
  given: readonly string[],
  read: (text: string) => string,
): string[] {
  if (operator !== 'in') {
    if (given.length > 1) throw invalidQuery(name, 'must be given once');
    return [operator === 'null' ? flagOf(name, given[0]!) : read(given[0]!)];
  }
  const values = given.length === 1 ? given[0]!.split(',') : given;
  if (values.length > MAX_VALUES) throw invalidQuery(name, `has more than ${MAX_VALUES} values`);
  return values.map(read);
}

function flagOf(name: string, text: string): string {
  if (text !== 'true' && text !== 'false') throw invalidQuery(name, 'must be true or false');
  return text;
}

/** A value as the text of the column's type. `isPart`: it is compared with a part of the stored text. */
function readValue(name: string, { type, format }: Column, text: string, isPart: boolean): string {
  if (text.includes('\0')) throw invalidQuery(name, 'must not contain U+0000');
  switch (type.replace('[]', '')) {
    case 'double precision':
      if (!/^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text) || !Number.isFinite(Number(text)))
        throw invalidQuery(name, 'must be a number');
      return text;
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
  return value;
}

const ZONED: ReadonlySet<string> = new Set(['date-time', 'time']);
