import { canSearch, RELEVANCE, type Resource } from '../collection/resource.js';
import { invalidQuery } from '../errors/input-errors.js';
import type { Access } from './condition.js';
import { type Keyset, keysetOf, listIdentity, type Position, readCursor } from './keyset.js';
import { type ListRequest, MAX_LIMIT, type Part } from './list-request.js';
import { escapeName, listIn, splitNames } from './query-names.js';
import { readView } from './read-fields-and-includes.js';
import { readFilter } from './read-filter.js';
import { cut, EXCERPTS, readExcerpts, requireSearch, searchIn, selectionOf } from './read-search.js';
import { findSorts, isByRelevance, isRelevance, isSingleSort, readSorts, type SortKey } from './read-sort.js';
import type { Others } from './relations.js';

const DEFAULT_LIMIT = 20;

/** The parameters of a list besides those of the specification. */
const EXTENDED_PARAMETERS = ['filter', 'fields', 'include', 'count', 'group', 'aggregate'];

/** The parameters of a list whose pages are numbered. */
export function listParameters(resource: Resource): string[] {
  return [
    'page',
    'limit',
    ...(isSortable(resource) ? ['sort', 'order'] : []),
    ...searchParameters(resource),
    ...EXTENDED_PARAMETERS,
  ];
}

/** The parameters of a list whose pages are between cursors. */
export const keysetParameters = (resource: Resource): string[] => [
  'after',
  'before',
  'limit',
  'sort',
  ...searchParameters(resource),
  ...EXTENDED_PARAMETERS,
];

const searchParameters = (resource: Resource): string[] => [
  ...(canSearch(resource) ? ['search'] : []),
  ...(resource.words.length > 0 ? [EXCERPTS] : []),
];

const isSortable = (resource: Resource): boolean =>
  resource.list === 'page' || resource.sortable.length > 0 || isRelevance(resource, RELEVANCE);

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
  const search = canSearch(resource) ? cut(given.get('search') ?? '') : '';
  const direction =
    isSortable(resource) && (order === 'asc' || order === 'desc') ? order : resource.direction;
  const { sorts, isExtended } = readOrder(given.get('sort'), resource, { direction, isBody, others, search });
  const conditions = readFilter(given, resource, others);
  const view = { ...readView(given, resource, others), ...readExcerpts(given, resource) };
  const repeated = (['sort', 'order', 'search'] as const).filter(
    (name) => given.has(name) && (name === 'search' ? canSearch(resource) : isSortable(resource)),
  );
  const hasPage = given.has('page') || given.has('limit');
  const hasMore =
    isExtended ||
    view.excerpts !== undefined ||
    [...given.keys()].some((name) => EXTENDED_PARAMETERS.includes(name.split('[', 1)[0]!));
  const isPage = isLines
    ? hasPage || view.include.length > 0 || view.excerpts === true
    : hasPage || hasMore || (resource.list === 'page' && repeated.length === 0);
  const effective = { sort: escapeName(sorts[0]!.field), order: direction, search };
  return {
    selection: selectionOf(conditions, resource, search, parent, sorts),
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

interface OrderContext {
  /** The direction of a single field. */
  readonly direction: SortKey['direction'];
  readonly isBody: boolean;
  readonly others: Others | undefined;
  readonly search: string;
}

/** One field whose direction is in `order`, or several keys; neither: the order is the default. Throws 400 if all keys are meant. */
function readOrder(
  text: string | null,
  resource: Resource,
  { direction, isBody, others, search }: OrderContext,
): { readonly sorts: readonly SortKey[]; readonly isExtended: boolean } {
  const names = splitNames(text ?? '');
  const read = isBody ? readSorts : findSorts;
  const keys = text === null ? undefined : read(names, resource, others);
  if (isBody) requireSearch(keys ?? [], resource, search);
  const [first] = keys ?? [];
  const isName = first && (text === first.field || text === escapeName(first.field));
  if (
    keys === undefined ||
    (resource.hasOneSort && !isBody && !isName) ||
    (search === '' && isByRelevance(resource, keys))
  )
    return { sorts: [{ field: 'created_at', direction }], isExtended: false };
  if (isSingleSort(names))
    return {
      sorts: isByRelevance(resource, keys) ? keys : [{ ...keys[0]!, direction }],
      isExtended: false,
    };
  return { sorts: keys, isExtended: true };
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
  const view = { ...readView(given, resource, others), ...readExcerpts(given, resource) };
  const count = given.get('count');
  if (count !== null && count !== 'exact') throw invalidQuery('count', 'must be exact, or absent');
  const search = searchIn(given, resource);
  requireSearch(sorts, resource, search);
  const selection = selectionOf(conditions, resource, search, parent, sorts);
  const keyset = keysetOf(resource, sorts, access);
  const identity = listIdentity(resource, selection, sorts);
  const limit = readLimit(given.get('limit'));
  const position = readPosition(given, identity, keyset);
  const isPage = !isLines || view.excerpts === true || PAGED.some((name) => given.has(name));
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

const SINGLE = ['after', 'before', 'limit', 'search', EXCERPTS, 'count'];
/** Parameters whose response is a page in lines, too. */
const PAGED = ['after', 'before', 'limit', 'include'];

function readLimit(text: string | null): number {
  if (text === null) return DEFAULT_LIMIT;
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > MAX_LIMIT)
    throw invalidQuery('limit', `must be an integer from 1 to ${MAX_LIMIT}`);
  return limit;
}

function readPosition(given: URLSearchParams, identity: string, keyset: Keyset): Position | undefined {
  const [after, before] = [given.get('after'), given.get('before')];
  if (after !== null && before !== null) throw invalidQuery('before', 'cannot be combined with after');
  if (after !== null) return readCursor(after, 'after', identity, keyset);
  return before === null ? undefined : readCursor(before, 'before', identity, keyset);
}

/** The parameters of an address but some. */
function without(given: URLSearchParams, names: readonly string[]): string {
  return String(new URLSearchParams([...given].filter(([name]) => !names.includes(name))));
}
