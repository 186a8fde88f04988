import { canSearch, RELEVANCE, type Resource } from '../collection/resource.js';
import { invalidQuery } from '../errors/input-errors.js';
import type { Given, QueryValues } from '../http/query-values.js';
import { type Keyset, keysetOf, listIdentity, type Position, readCursor } from './keyset.js';
import { type ListRequest, MAX_LIMIT, type Part } from './list-request.js';
import { escapeName, integerOf, listIn, type Name, namesOf, textIn } from './query-names.js';
import { readView } from './read-fields-and-includes.js';
import { readFilter } from './read-filter.js';
import { cut, EXCERPTS, readExcerpts, requireSearch, searchIn, selectionOf } from './read-search.js';
import { findSorts, isByRelevance, isRelevance, isSingleSort, readSorts, type SortKey } from './read-sort.js';
import type { Accessible, Others } from './relations.js';

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
  /** The collections over which conditions and views may lead; absent: none. */
  readonly others?: Others;
}

/** Reads the parameters of a list. Throws 400, 403. */
export function readList(given: QueryValues, records: Accessible, context: ListContext): ListRequest {
  return context.lists === 'keyset'
    ? readKeysetList(given, records, context)
    : readNumberedList(given, records, context);
}

/**
 * Reads a list whose pages are numbered. Each of the five parameters of the specification has an effective value for any
 * text. Throws 400 for anything invalid in the others.
 */
function readNumberedList(
  given: QueryValues,
  records: Accessible,
  { parent, isLines = false, others }: ListContext,
): ListRequest {
  const { resource } = records;
  const has = (name: string) => given.all(name).length > 0;
  const order = textIn(given, 'order');
  const search = canSearch(resource) ? cut(textIn(given, 'search') ?? '') : '';
  const direction =
    isSortable(resource) && (order === 'asc' || order === 'desc') ? order : resource.direction;
  const { sorts, isExtended } = readOrder(given, records, { direction, others, search });
  const conditions = readFilter(given.filter(), records, others);
  const view = { ...readView(given, resource, others), ...readExcerpts(given, resource) };
  const repeated = (['sort', 'order', 'search'] as const).filter(
    (name) => has(name) && (name === 'search' ? canSearch(resource) : isSortable(resource)),
  );
  const hasPage = has('page') || has('limit');
  const hasMore =
    isExtended ||
    view.excerpts !== undefined ||
    given.names.some((name) => EXTENDED_PARAMETERS.includes(name.split('[', 1)[0]!));
  const isPage = isLines
    ? hasPage || view.include.length > 0 || view.excerpts === true
    : hasPage || hasMore || (resource.list === 'page' && repeated.length === 0);
  const effective = { sort: escapeName(sorts[0]!.field), order: direction, search };
  return {
    selection: selectionOf(conditions, records, search, parent, sorts),
    sorts,
    ...view,
    counts: readCount(textIn(given, 'count')) !== 'none',
    part: isPage ? numberedPart(given) : { kind: 'all' },
    repeated: hasMore
      ? without(given.address(), ['page', 'limit'])
      : repeated.map((name) => `${name}=${encodeURIComponent(effective[name])}`).join('&'),
    search,
  };
}

interface OrderContext {
  /** The direction of a single field. */
  readonly direction: SortKey['direction'];
  readonly others: Others | undefined;
  readonly search: string;
}

/** One field whose direction is in `order`, or several keys; neither: the order is the default. Throws 400 if all keys are meant. */
function readOrder(
  given: QueryValues,
  records: Accessible,
  { direction, others, search }: OrderContext,
): { readonly sorts: readonly SortKey[]; readonly isExtended: boolean } {
  const { isBody } = given;
  const { resource } = records;
  const sorts = given.all('sort');
  // Of a list with one key, the first value applies.
  const names = (resource.hasOneSort ? sorts.slice(0, 1) : sorts).flatMap(namesOf);
  const read = isBody ? readSorts : findSorts;
  const keys = sorts.length === 0 ? undefined : read(names, records, others);
  if (isBody) requireSearch(keys ?? [], resource, search);
  if (
    keys === undefined ||
    (resource.hasOneSort && !isBody && !isName(names, keys)) ||
    (search === '' && isByRelevance(resource, keys))
  )
    return { sorts: [{ field: 'created_at', direction }], isExtended: false };
  if (isSingleSort(names, resource))
    return {
      sorts: isByRelevance(resource, keys) ? keys : [{ ...keys[0]!, direction }],
      isExtended: false,
    };
  return { sorts: keys, isExtended: true };
}

/** Whether an order is the name of one field, without an escape that it does not need. */
const isName = ([name, ...others]: readonly Name[], [key]: readonly SortKey[]): boolean =>
  key !== undefined &&
  others.length === 0 &&
  (name?.text === key.field || name?.text === escapeName(key.field));

function numberedPart(given: QueryValues): Part {
  const [page, limit] = ['page', 'limit'].map((name) => wholeOf(given.all(name)[0]));
  return {
    kind: 'numbered',
    page: atLeastOne(page!, 1),
    limit: Math.min(atLeastOne(limit! || Number.NaN, DEFAULT_LIMIT), MAX_LIMIT),
  };
}

/** The integer at the beginning of a value; NaN: there is none. */
const wholeOf = (given: Given | undefined): number =>
  typeof given === 'number' ? Math.trunc(given) : Number.parseInt(String(given ?? ''), 10);

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
  given: QueryValues,
  records: Accessible,
  { parent, isLines = false, others }: ListContext,
): ListRequest {
  const { resource } = records;
  const sort = listIn(given, 'sort');
  const sorts =
    sort === undefined
      ? [{ field: 'created_at', direction: resource.direction }]
      : readSorts(sort, records, others);
  const conditions = readFilter(given.filter(), records, others);
  const view = { ...readView(given, resource, others), ...readExcerpts(given, resource) };
  const count = textIn(given, 'count');
  if (count !== null && count !== 'exact') throw invalidQuery('count', 'must be exact, or absent');
  const search = searchIn(given, resource);
  requireSearch(sorts, resource, search);
  const selection = selectionOf(conditions, records, search, parent, sorts);
  const keyset = keysetOf(resource, sorts, records.access);
  const identity = listIdentity(resource, selection, sorts);
  const limit = readLimit(given.all('limit')[0]);
  const position = readPosition(given, identity, keyset);
  const isPage = !isLines || view.excerpts === true || PAGED.some((name) => given.all(name).length > 0);
  const rest = new URLSearchParams(given.address());
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

/** Parameters whose response is a page in lines, too. */
const PAGED = ['after', 'before', 'limit', 'include'];

function readLimit(given: Given | undefined): number {
  if (given === undefined) return DEFAULT_LIMIT;
  const limit = integerOf(given, MAX_LIMIT);
  if (limit === undefined) throw invalidQuery('limit', `must be an integer from 1 to ${MAX_LIMIT}`);
  return limit;
}

function readPosition(given: QueryValues, identity: string, keyset: Keyset): Position | undefined {
  const [after, before] = [textIn(given, 'after'), textIn(given, 'before')];
  if (after !== null && before !== null) throw invalidQuery('before', 'cannot be combined with after');
  if (after !== null) return readCursor(after, 'after', identity, keyset);
  return before === null ? undefined : readCursor(before, 'before', identity, keyset);
}

/** The parameters of an address but some. */
function without(given: URLSearchParams, names: readonly string[]): string {
  return String(new URLSearchParams([...given].filter(([name]) => !names.includes(name))));
}
