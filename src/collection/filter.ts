import { invalidQuery } from '../errors/query-errors.js';
import { parseUuid } from '../uuid.js';
import { type Column, instantOf } from './column.js';
import type { Resource } from './resource.js';

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

const MAX_CONDITIONS = 20;
const MAX_VALUES = 100;
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
  const fields = operatorsOf(resource);
  const names = [...new Set(given.keys())].filter((name) => /^filter(\[|$)/.test(name));
  if (names.length > MAX_CONDITIONS)
    throw invalidQuery('filter', `has more than ${MAX_CONDITIONS} conditions`);
  return names.map((name) => {
    const [, field, operator = 'eq'] = /^filter\[([^\]]*)\](?:\[([^\]]*)\])?$/.exec(name) ?? [];
    if (field === undefined)
      throw invalidQuery(name, 'must be like filter[field] or filter[field][operator]');
    const operators = fields.get(field);
    if (!operators)
      throw invalidQuery(
        name,
        `names no field that can be filtered by: there are ${listed([...fields.keys()])}`,
      );
    if (!(operators as readonly string[]).includes(operator))
      throw invalidQuery(name, `must have one of the operators ${operators.join(', ')}`);
    const column = resource.columns.get(field)!;
    const all = given.getAll(name);
    return {
      field,
      column,
      operator: operator as Operator,
      values: valuesOf(name, operator as Operator, column, all),
    };
  });
}

const listed = (names: readonly string[]) => (names.length === 0 ? 'none' : names.join(', '));

/** The list of `in` is separated by commas, or one parameter for each value. */
function valuesOf(name: string, operator: Operator, column: Column, given: readonly string[]): string[] {
  if (operator !== 'in') {
    if (given.length > 1) throw invalidQuery(name, 'must be given once');
    return [operator === 'null' ? flagOf(name, given[0]!) : readValue(name, column, given[0]!)];
  }
  const values = given.length === 1 ? given[0]!.split(',') : given;
  if (values.length > MAX_VALUES) throw invalidQuery(name, `has more than ${MAX_VALUES} values`);
  return values.map((value) => readValue(name, column, value));
}

function flagOf(name: string, text: string): string {
  if (text !== 'true' && text !== 'false') throw invalidQuery(name, 'must be true or false');
  return text;
}

/** A value as the text of the column's type. */
function readValue(name: string, { type, isInstant }: Column, text: string): string {
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
      if (!isInstant) return text;
      if (Number.isNaN(Date.parse(text)) || !/^\d{4}-/.test(text))
        throw invalidQuery(name, 'must be a time as in RFC 3339');
      return instantOf(text);
  }
}
