import { searchedTexts } from '../collection/normalized-text.js';
import type { Resource } from '../collection/resource.js';
import { invalidQuery } from '../errors/input-errors.js';
import type { Access, Condition, Selection } from './condition.js';
import { readFilter } from './filter.js';
import { type Keyset, keysetOf, listIdentity, type Position, readCursor } from './keyset.js';
import { type ListRequest, MAX_LIMIT, type Part } from './list-request.js';
import { findSorts, isSingleSort, readSorts, type SortKey } from './order.js';
import { escapeName, listIn, splitNames } from './query-names.js';
import type { Others } from './relations.js';
import { readView } from './view.js';

const DEFAULT_LIMIT = 20;
/** Maximum code points of a search. */
export const MAX_SEARCH = 100;

/** The parameters of a list besides those of the specification. */
const EXTENDED_PARAMETERS = ['filter', 'fields', 'include', 'count', 'group', 'aggregate'];

/** The parameters of a list whose pages are numbered. */
export function listParameters(resource: Resource): string[] {
  return [
    'page',
    'limit',
    ...(isSortable(resource) ? ['sort', 'order'] : []),
    ...(resource.searchable.length > 0 ? ['search'] : []),
    ...EXTENDED_PARAMETERS,
  ];
}

/** The parameters of a list whose pages are between cursors. */
export function keysetParameters({ searchable }: Resource): string[] {
  const search = searchable.length > 0 ? ['search'] : [];
  return ['after', 'before', 'limit', 'sort', ...search, ...EXTENDED_PARAMETERS];
}

const isSortable = ({ list, sortable }: Resource): boolean => list === 'page' || sortable.length > 0;

/** Circumstances in which the parameters of a list are read. */
export interface ListContext {
  /** How the version of the API turns pages. */
  readonly lists: 'numbered' | 'keyset';
  /** The id of the parent, if the list is nested, or the caller may read the records of one parent alone. */
  readonly parent?: string | undefined;
  /** Whether the response has a line for each record, as CSV has. */
  readonly isLines?: boolean;
  /** Whether the parameters come from a body, whose keys of the order are all meant. */
  readonly isBody?: boolean;
  /** The records and fields that there are for the caller; undefined: all. */
  readonly access?: Access | undefined;
  /** The collections over which conditions and views may lead; absent: none. */
  readonly others?: Others;
}

/** Reads the parameters of a list. Throws 400. */
export function readList(given: URLSearchParams, resource: Resource, context: ListContext): ListRequest {
  return context.lists === 'keyset'
    ? readKeysetList(given, resource, context)
    : readNumberedList(given, resource, context);
}

/**
 * Reads a list whose pages are numbered. Each of the five parameters of the specification has an effective value for any
 * text. Throws 400 for anything invalid in the others.
 */
function readNumberedList(
  given: URLSearchParams,
  resource: Resource,
  { parent, isLines = false, isBody = false, others }: ListContext,
): ListRequest {
  const order = given.get('order');
  const search = resource.searchable.length === 0 ? '' : cut(given.get('search') ?? '');
  const direction =
    isSortable(resource) && (order === 'asc' || order === 'desc') ? order : resource.direction;
  const { sorts, isExtended } = readOrder(given.get('sort'), resource, direction, isBody, others);
  const conditions = readFilter(given, resource, others);
  const view = readView(given, resource, others);
  const repeated = (['sort', 'order', 'search'] as const).filter(
    (name) => given.has(name) && (name === 'search' ? resource.searchable.length > 0 : isSortable(resource)),
  );
  const hasPage = given.has('page') || given.has('limit');
  const hasMore =
    isExtended || [...given.keys()].some((name) => EXTENDED_PARAMETERS.includes(name.split('[', 1)[0]!));
  const isPage = isLines
    ? hasPage || view.include.length > 0
    : hasPage || hasMore || (resource.list === 'page' && repeated.length === 0);
  const effective = { sort: escapeName(sorts[0]!.field), order: direction, search };
  return {
    selection: selectionOf(conditions, resource, search, parent),
    sorts,
    ...view,
    counts: readCount(given.get('count')) !== 'none',
    part: isPage ? numberedPart(given) : { kind: 'all' },
    repeated: hasMore
      ? without(given, ['page', 'limit'])
      : repeated.map((name) => `${name}=${encodeURIComponent(effective[name])}`).join('&'),
    search,
  };
}

/** One field whose direction is in `order`, or several keys; neither: the order is the default. Throws 400 if all keys are meant. */
function readOrder(
  text: string | null,
  resource: Resource,
  direction: SortKey['direction'],
  isBody: boolean,
  others: Others | undefined,
): { readonly sorts: readonly SortKey[]; readonly isExtended: boolean } {
  const names = splitNames(text ?? '');
  const read = isBody ? readSorts : findSorts;
  const keys = text === null ? undefined : read(names, resource, others);
  if (keys === undefined) return { sorts: [{ field: 'created_at', direction }], isExtended: false };
  if (isSingleSort(names)) return { sorts: [{ ...keys[0]!, direction }], isExtended: false };
  return resource.hasOneSort && !isBody
    ? { sorts: [{ field: 'created_at', direction }], isExtended: false }
    : { sorts: keys, isExtended: true };
}

function numberedPart(given: URLSearchParams): Part {
  const [page, limit] = ['page', 'limit'].map((name) => Number.parseInt(given.get(name) ?? '', 10));
  return {
    kind: 'numbered',
    page: atLeastOne(page!, 1),
    limit: Math.min(atLeastOne(limit! || Number.NaN, DEFAULT_LIMIT), MAX_LIMIT),
  };
}

function atLeastOne(value: number, fallback: number): number {
  return Number.isNaN(value) ? fallback : Math.min(Math.max(value, 1), Number.MAX_SAFE_INTEGER);
}

/** By code points, so that no character is cut in two. */
function cut(search: string): string {
  const trimmed = search.trim();
  if (trimmed.length <= MAX_SEARCH) return trimmed;
  return [...trimmed.slice(0, MAX_SEARCH * 2)].slice(0, MAX_SEARCH).join('');
}

function readCount(text: string | null): 'exact' | 'none' {
  if (text === null || text === 'exact') return 'exact';
  if (text === 'none') return 'none';
  throw invalidQuery('count', 'must be exact or none');
}

/** Reads a list whose pages are between cursors. Throws 400 for everything that has no meaning. */
function readKeysetList(
  given: URLSearchParams,
  resource: Resource,
  { parent, isLines = false, others, access }: ListContext,
): ListRequest {
  const repeated = SINGLE.find((name) => given.getAll(name).length > 1);
  if (repeated !== undefined) throw invalidQuery(repeated, 'must be given once');
  const sort = listIn(given, 'sort');
  const sorts =
    sort === undefined
      ? [{ field: 'created_at', direction: resource.direction }]
      : readSorts(sort, resource, others);
  const conditions = readFilter(given, resource, others);
  const view = readView(given, resource, others);
  const count = given.get('count');
  if (count !== null && count !== 'exact') throw invalidQuery('count', 'must be exact, or absent');
  const search = searchIn(given, resource);
  const selection = selectionOf(conditions, resource, search, parent);
  const keyset = keysetOf(resource, sorts, access);
  const identity = listIdentity(resource, selection, sorts);
  const limit = readLimit(given.get('limit'));
  const position = readPosition(given, identity, keyset);
  const isPage = !isLines || ['after', 'before', 'limit', 'include'].some((name) => given.has(name));
  const rest = new URLSearchParams(given);
  rest.set('limit', String(limit));
  return {
    selection,
    sorts,
    ...view,
    counts: count === 'exact',
    part: isPage ? { kind: 'keyset', limit, keyset, position, identity } : { kind: 'all' },
    repeated: without(rest, ['after', 'before']),
    search,
  };
}

const SINGLE = ['after', 'before', 'limit', 'search', 'count'];

function readLimit(text: string | null): number {
  if (text === null) return DEFAULT_LIMIT;
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > MAX_LIMIT)
    throw invalidQuery('limit', `must be an integer from 1 to ${MAX_LIMIT}`);
  return limit;
}

/** The text that is searched for. Throws 400. */
export function searchIn(given: URLSearchParams, { searchable }: Resource): string {
  const search = searchable.length === 0 ? '' : (given.get('search')?.trim() ?? '');
  if (search.includes('\0')) throw invalidQuery('search', 'must not contain U+0000');
  if (search.length > MAX_SEARCH && [...search].length > MAX_SEARCH)
    throw invalidQuery('search', `must have at most ${MAX_SEARCH} characters`);
  return search;
}

function readPosition(given: URLSearchParams, identity: string, keyset: Keyset): Position | undefined {
  const [after, before] = [given.get('after'), given.get('before')];
  if (after !== null && before !== null) throw invalidQuery('before', 'cannot be combined with after');
  if (after !== null) return readCursor(after, 'after', identity, keyset);
  return before === null ? undefined : readCursor(before, 'before', identity, keyset);
}

/** The selection of what is read from a request. */
export function selectionOf(
  conditions: readonly Condition[],
  resource: Resource,
  search: string,
  parent: string | undefined,
): Selection {
  const texts = searchedTexts(resource, search);
  return { conditions, search: texts, ...(parent === undefined ? {} : { parent }) };
}

/** The parameters of an address but some. */
function without(given: URLSearchParams, names: readonly string[]): string {
  return String(new URLSearchParams([...given].filter(([name]) => !names.includes(name))));
}
