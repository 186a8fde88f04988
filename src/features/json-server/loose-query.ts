import { invalidQuery } from '../../errors/input-errors.js';
import type { SliceRequest } from '../../list/list-request.js';

/** The records of a page without `_limit`. */
const DEFAULT_LIMIT = 10;
const MAX_CONDITIONS = 20;
const MAX_VALUES = 100;
const MAX_SORTS = 5;
const MAX_PATTERN = 200;
/** The most that the counts of repetitions in a pattern may be, multiplied with each other. */
const MAX_REPETITIONS = 255;

/** Names that are no filters: `_` prevents that a cache responds. */
const OPTIONS = [
  ...['q', 'callback', '_', '', '_page', '_limit', '_per_page', '_start', '_end', '_sort', '_order'],
  ...['_embed', '_expand', '_delay'],
];
const SUFFIX = /_(gte|lte|ne|like)$/;

/** A condition on the text of a member of a document, which need not be declared. */
export interface LooseCondition {
  /** The name of the member, or names that lead to it: `author.names[0]`. */
  readonly field: string;
  readonly operator: 'eq' | 'ne' | 'gte' | 'lte' | 'like';
  /** The member must fit one value; with `ne`, all values. */
  readonly values: readonly string[];
}

/** A query of a list as json-server 0.17 reads it: about documents as they are, without declarations. */
export interface JsonServerQuery extends Pick<SliceRequest, 'start' | 'end'> {
  readonly conditions: readonly LooseCondition[];
  /** The text, in lower case, that a value of the record contains; empty: each record matches. */
  readonly term: string;
  readonly sorts: readonly { readonly field: string; readonly isFalling: boolean }[];
  /** Whether the response has the number of matches. */
  readonly isSlice: boolean;
  /** The number of the page and its limit, for links. */
  readonly page: { readonly number: number; readonly limit: number } | undefined;
  readonly embed: readonly string[];
  readonly expand: readonly string[];
}

/** Reads a query. Throws 400 for one with more than there is room for. */
export function readQuery(query: URLSearchParams): JsonServerQuery {
  // Arrays as many clients write them: `id[]=1&id[]=2`, `id[0]=1&id[1]=2`.
  const given = new URLSearchParams();
  for (const [name, value] of query) given.append(name.replace(/\[\d*\]$/, ''), value);
  const names = [...new Set(given.keys())].filter(isFilter);
  if (names.length > MAX_CONDITIONS)
    throw invalidQuery('filter', `has more than ${MAX_CONDITIONS} conditions`);
  return {
    conditions: names.map((name) => conditionOf(name, given.getAll(name))),
    term: (given.get('q') ?? '').toLowerCase().replaceAll('\0', ''),
    sorts: sortsOf(given),
    ...sliceOf(given),
    embed: relationsIn(given, '_embed'),
    expand: relationsIn(given, '_expand'),
  };
}

const isFilter = (name: string) => !OPTIONS.includes(name);

function conditionOf(name: string, values: readonly string[]): LooseCondition {
  if (values.length > MAX_VALUES) throw invalidQuery(name, `has more than ${MAX_VALUES} values`);
  if ([name, ...values].some((each) => each.includes('\0')))
    throw invalidQuery(name, 'must not contain U+0000');
  const operator = (SUFFIX.exec(name)?.[1] ?? 'eq') as LooseCondition['operator'];
  const field = name.replace(SUFFIX, '');
  if (operator !== 'like') return { field, operator, values };
  for (const value of values) requireBounded(name, value);
  return { field, operator, values: values.map(patternOf) };
}

const BACKREFERENCE_OR_COUNT = /\\([1-9])|\\[\s\S]|\{(\d*)(?:,(\d*))?\}/g;

/**
 * Throws 400 for a pattern that takes PostgreSQL long to compile, since it writes counted repetitions out, or to compare: a
 * reference to a group takes exponential time.
 */
function requireBounded(name: string, pattern: string): void {
  if (pattern.length > MAX_PATTERN) throw invalidQuery(name, `has more than ${MAX_PATTERN} characters`);
  let repetitions = 1;
  for (const [, reference, from = '', to = ''] of pattern.matchAll(BACKREFERENCE_OR_COUNT)) {
    if (reference !== undefined) throw invalidQuery(name, 'refers to a group');
    repetitions *= Math.max(1, Number(from), Number(to));
  }
  if (repetitions > MAX_REPETITIONS)
    throw invalidQuery(name, `has counts whose product is more than ${MAX_REPETITIONS}`);
}

const ESCAPES: Readonly<Record<string, string>> = { '\\b': '\\y', '\\B': '\\Y' };

/**
 * A regular expression of JavaScript as PostgreSQL writes it: their boundaries of words have other names, a letter without a
 * meaning stands for itself, and no dot matches the end of a line.
 */
function patternOf(pattern: string): string {
  let isClass = false;
  return pattern.replace(/\\[\s\S]|[\s\S]/g, (token) => {
    if (isClass) {
      isClass = token !== ']';
      return token === '[' ? '\\[' : token;
    }
    isClass = token === '[';
    if (token === '.') return '[^\\n\\r\\u2028\\u2029]';
    return ESCAPES[token] ?? token.replace(/^\\(?=[aeghijklmopqyzACE-RTUVXYZ])/, '');
  });
}

function sortsOf(given: URLSearchParams): JsonServerQuery['sorts'] {
  const orders = (given.get('_order') ?? '').toLowerCase().split(',');
  const keys = (given.get('_sort') ?? '').split(',');
  if (keys.length > MAX_SORTS) throw invalidQuery('_sort', `has more than ${MAX_SORTS} fields`);
  const sorts = keys.map((key, at) => ({
    field: key.replaceAll('\0', ''),
    isFalling: orders[at] === 'desc',
  }));
  return sorts.filter(({ field }) => field !== '');
}

function sliceOf(given: URLSearchParams): Pick<JsonServerQuery, 'isSlice' | 'page' | 'start' | 'end'> {
  const number = (name: string) => bounded(Number.parseInt(given.get(name) ?? '', 10) || 0);
  const has = (name: string) => (given.get(name) ?? '') !== '';
  const given_limit = has('_limit') ? number('_limit') : number('_per_page');
  if (has('_page')) {
    const page = {
      number: Math.max(number('_page'), 1),
      limit: given_limit > 0 ? given_limit : DEFAULT_LIMIT,
    };
    const [start, end] = [bounded((page.number - 1) * page.limit), bounded(page.number * page.limit)];
    return { isSlice: true, page, start, end };
  }
  const start = number('_start');
  if (has('_end')) return { isSlice: true, page: undefined, start, end: number('_end') };
  if (has('_limit') || has('_per_page'))
    return { isSlice: true, page: undefined, start, end: bounded(start + given_limit) };
  return { isSlice: false, page: undefined, start: 0, end: undefined };
}

const bounded = (value: number) =>
  Math.max(Math.min(value, Number.MAX_SAFE_INTEGER), Number.MIN_SAFE_INTEGER);

const relationsIn = (given: URLSearchParams, name: string): string[] => [
  ...new Set(given.getAll(name).filter((each) => each !== '')),
];
