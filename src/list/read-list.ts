import { canSearch, RELEVANCE, type Resource } from '../collection/resource.js';
import { invalidQuery } from '../errors/input-errors.js';
import type { Given, QueryValues } from '../http/query-values.js';
import { type Keyset, keysetOf, listIdentity, type Position, readCursor } from './keyset.js';
import { type ListRequest, MAX_LIMIT, type Part } from './list-request.js';
import { escapeName, listIn, namesOf, readInteger, textIn } from './query-names.js';
import { readView } from './read-fields-and-includes.js';
import { readFilter } from './read-filter.js';
import { cut, EXCERPTS, readExcerpts, requireSearch, searchIn, selectionOf } from './read-search.js';
import { isRelevance, readSorts, type SortKey, sortKeyOf } from './read-sort.js';
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

/** Reads a list whose pages are numbered. In a tolerant one, an invalid value gives the default. Throws 400, 403. */
function readNumberedList(
  given: QueryValues,
  records: Accessible,
  { parent, isLines = false, others }: ListContext,
): ListRequest {
  const { resource } = records;
  const isTolerant = resource.hasTolerantLists && !given.isBody;
  const has = (name: string) => given.all(name).length > 0;
  const search = !isTolerant
    ? searchIn(given, resource)
    : canSearch(resource)
      ? cut(textIn(given, 'search') ?? '')
      : '';
  const sorts = isTolerant
    ? tolerantOrder(given, records, search)
    : strictOrder(given, records, search, others);
  const conditions = readFilter(given.filter(), records, others);
  const view = { ...readView(given, resource, others), ...readExcerpts(given, resource) };
  const repeated = (['sort', 'order', 'search'] as const).filter(
    (name) => has(name) && (name === 'search' ? canSearch(resource) : isSortable(resource)),
  );
  const hasPage = has('page') || has('limit');
  const hasMore =
    view.excerpts !== undefined ||
    given.names.some((name) => EXTENDED_PARAMETERS.includes(name.split('[', 1)[0]!));
  const isPage = isLines
    ? hasPage || view.include.length > 0 || view.excerpts === true
    : hasPage || hasMore || (resource.list === 'page' && !(isTolerant && repeated.length > 0));
  const effective = { sort: escapeName(sorts[0]!.field), order: sorts[0]!.direction, search };
  return {
    selection: selectionOf(conditions, records, search, parent, sorts),
    sorts,
    ...view,
    counts: readCount(textIn(given, 'count')) !== 'none',
    part: isPage ? numberedPart(given, isTolerant) : { kind: 'all' },
    repeated:
      isTolerant && !hasMore
        ? repeated.map((name) => `${name}=${encodeURIComponent(effective[name])}`).join('&')
        : without(given.address(), ['page', 'limit']),
    search,
  };
}

/** One field, whose direction is in `order`; the default for every other text. Throws 403. */
function tolerantOrder(given: QueryValues, records: Accessible, search: string): readonly SortKey[] {
  const { resource } = records;
  const order = isSortable(resource) ? textIn(given, 'order') : null;
  const direction = order === 'asc' || order === 'desc' ? order : resource.direction;
  const [name, ...more] = given.all('sort').slice(0, 1).flatMap(namesOf);
  const key = name && more.length === 0 ? sortKeyOf(name, records) : undefined;
  // An escape that the name does not need makes it another text, and so does a minus.
  const isName = key !== undefined && [key.field, escapeName(key.field)].includes(name!.text);
  if (isName && isRelevance(resource, key.field) && search !== '') return [key];
  const field = isName && !isRelevance(resource, key.field) ? key.field : 'created_at';
  return [{ field, direction }];
}

/** Keys with their directions, or one without a minus and `order`. Throws 400, 403. */
function strictOrder(
  given: QueryValues,
  records: Accessible,
  search: string,
  others: Others | undefined,
): readonly SortKey[] {
  const { resource } = records;
  const order = textIn(given, 'order');
  if (order !== null && order !== 'asc' && order !== 'desc')
    throw invalidQuery('order', 'must be asc or desc');
  const sort = listIn(given, 'sort');
  if (sort === undefined) return [{ field: 'created_at', direction: order ?? resource.direction }];
  const sorts = readSorts(sort, records, others);
  requireSearch(sorts, resource, search);
  if (order === null) return sorts;
  const [key, ...more] = sorts as [SortKey];
  if (more.length > 0 || key.direction === 'desc')
    throw invalidQuery('order', 'must be absent, or sort one field without a minus');
  return [{ ...key, direction: order }];
}

/** A page. In a tolerant list, any text gives one. Throws 400. */
function numberedPart(given: QueryValues, isTolerant: boolean): Part {
  const [page, limit] = [given.all('page')[0], given.all('limit')[0]];
  if (!isTolerant)
    return {
      kind: 'numbered',
      page: readInteger('page', page, 1, Number.MAX_SAFE_INTEGER),
      limit: readInteger('limit', limit, DEFAULT_LIMIT, MAX_LIMIT),
    };
  return {
    kind: 'numbered',
    page: atLeastOne(wholeOf(page), 1),
    limit: Math.min(atLeastOne(wholeOf(limit) || Number.NaN, DEFAULT_LIMIT), MAX_LIMIT),
  };
}

/** The integer at the beginning of a text; NaN: there is none. */
const wholeOf = (given: Given | undefined): number => Number.parseInt(String(given ?? ''), 10);

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
  const limit = readInteger('limit', given.all('limit')[0], DEFAULT_LIMIT, MAX_LIMIT);
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
