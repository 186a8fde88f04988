import { canSearch, RELEVANCE, type Resource, searchedTexts } from '../collection/resource.js';
import { invalidQuery } from '../errors/input-errors.js';
import type { Condition, Selection } from './condition.js';
import { type Keyset, keysetOf, listIdentity, type Position, readCursor } from './keyset.js';
import { type ListRequest, MAX_LIMIT, MAX_SEARCH, type Part } from './list-request.js';
import { escapeName, FLAGS, filterIn, listIn, readChoice, readInteger, unescapeName } from './query-names.js';
import { readView } from './read-fields-and-includes.js';
import { readFilter } from './read-filter.js';
import { isByRelevance, isRelevance, readSorts, type SortKey, sortKeyOf } from './read-sort.js';
import { type Accessible, type Others, requireFieldAccess } from './relations.js';
import { wordsOf } from './words.js';

const DEFAULT_LIMIT = 20;
const EXCERPTS = 'excerpts';

/** The parameters of a list besides those of the specification. */
const EXTENDED_PARAMETERS = [EXCERPTS, 'filter', 'fields', 'include', 'count', 'group', 'aggregate'];

/** The parameters of a list whose pages are numbered. */
export const listParameters = (resource: Resource): string[] => [
  ...['page', 'limit', ...(isSortable(resource) ? ['sort', 'order'] : [])],
  ...commonParameters(resource),
];

/** The parameters of a list whose pages are between cursors. */
export const keysetParameters = (resource: Resource): string[] => [
  ...['after', 'before', 'limit', 'sort'],
  ...commonParameters(resource),
];

const commonParameters = (resource: Resource): string[] => [
  ...(canSearch(resource) ? ['search'] : []),
  ...EXTENDED_PARAMETERS.filter((name) => name !== EXCERPTS || resource.words.length > 0),
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
  /** Whether the parameters come from a body, in which invalid ones have no default. */
  readonly isOfBody?: boolean;
  /** The collections over which conditions and views may lead; absent: none. */
  readonly others?: Others;
}

/** Reads the parameters of a list. In a tolerant one with numbered pages, an invalid value gives the default. Throws 400, 403. */
export function readList(given: URLSearchParams, records: Accessible, context: ListContext): ListRequest {
  const { resource } = records;
  const { lists, parent, isOfBody = false, others } = context;
  const isTolerant = resource.hasTolerantLists && !isOfBody && lists === 'numbered';
  const search = searchIn(given, resource, isTolerant);
  const sorts = isTolerant
    ? tolerantOrder(given, records, search)
    : strictOrder(given, records, search, context);
  const conditions = readFilter(filterIn(given), records, others);
  const excerpts = readChoice(EXCERPTS, given.get(EXCERPTS), FLAGS) === 'true';
  const view = readView(given, resource, others);
  const selection = selectionOf(conditions, records, search, parent, sorts);
  const list = { selection, sorts, search, excerpts, ...view };
  return lists === 'keyset'
    ? keysetList(given, records, list, context)
    : numberedList(given, resource, list, isTolerant, context);
}

/** The parts that lists of both kinds have. */
type Common = Omit<ListRequest, 'counts' | 'part' | 'repeated'>;

function numberedList(
  given: URLSearchParams,
  resource: Resource,
  list: Common,
  isTolerant: boolean,
  { isLines = false }: ListContext,
): ListRequest {
  const { sorts, search, include, excerpts } = list;
  const repeated = (['sort', 'order', 'search'] as const).filter(
    (name) => given.has(name) && (name === 'search' ? canSearch(resource) : isSortable(resource)),
  );
  const hasPage = given.has('page') || given.has('limit');
  const hasMore = [...given.keys()].some((name) => EXTENDED_PARAMETERS.includes(name.split('[', 1)[0]!));
  const isPage = isLines
    ? hasPage || include.length > 0 || excerpts
    : hasPage || hasMore || (resource.list === 'page' && !(isTolerant && repeated.length > 0));
  const effective = { sort: escapeName(sorts[0]!.field), order: sorts[0]!.direction, search };
  const count = readChoice('count', given.get('count'), ['exact', 'none']);
  // Node 20 takes microseconds for a spread before further members.
  return {
    counts: count !== 'none',
    part: isPage ? numberedPart(given, isTolerant) : { kind: 'all' },
    repeated:
      isTolerant && !hasMore
        ? repeated.map((name) => `${name}=${encodeURIComponent(effective[name])}`).join('&')
        : without(given, ['page', 'limit']),
    ...list,
  };
}

/** One field, whose direction is in `order`; the default for every other text. Throws 403. */
function tolerantOrder(given: URLSearchParams, records: Accessible, search: string): readonly SortKey[] {
  const { resource } = records;
  const order = isSortable(resource) ? given.get('order') : null;
  const direction = order === 'asc' || order === 'desc' ? order : resource.direction;
  const text = given.get('sort') ?? '';
  const name = unescapeName(text);
  // The name of one field, as it is or escaped: a minus, several names, or other backslashes are none.
  const key = [name, escapeName(name)].includes(text) ? sortKeyOf(escapeName(name), records) : undefined;
  if (!key) return [{ field: 'created_at', direction }];
  if (!isRelevance(resource, key.field)) return [{ ...key, direction }];
  return search === '' ? [{ field: 'created_at', direction }] : [key];
}

/** Keys with their directions, or in a numbered list one without a minus and `order`. Throws 400, 403. */
function strictOrder(
  given: URLSearchParams,
  records: Accessible,
  search: string,
  { lists, others }: ListContext,
): readonly SortKey[] {
  const { resource } = records;
  const order = lists === 'keyset' ? undefined : readChoice('order', given.get('order'), ['asc', 'desc']);
  const sort = listIn(given, 'sort');
  if (sort === undefined) return [{ field: 'created_at', direction: order ?? resource.direction }];
  const sorts = readSorts(sort, records, others);
  if (search === '' && isByRelevance(resource, sorts))
    throw invalidQuery('sort', `can be ${RELEVANCE} only with search`);
  if (order === undefined) return sorts;
  const [key, ...more] = sorts as [SortKey];
  if (more.length > 0 || key.direction === 'desc')
    throw invalidQuery('order', 'must be absent, or sort one field without a minus');
  return [{ ...key, direction: order }];
}

/** A page. In a tolerant list, any text gives one. Throws 400. */
function numberedPart(given: URLSearchParams, isTolerant: boolean): Part {
  const read = isTolerant ? tolerantInteger : readInteger<number>;
  return {
    kind: 'numbered',
    page: read('page', given.get('page'), 1, Number.MAX_SAFE_INTEGER),
    limit: read('limit', given.get('limit'), DEFAULT_LIMIT, MAX_LIMIT),
  };
}

/** An integer from 1 to a maximum; zero gives the default, as any other text does. */
const tolerantInteger = (_name: string, given: string | null, fallback: number, max: number): number =>
  Math.min(Math.max(Number.parseInt(given ?? '', 10) || fallback, 1), max);

/** Throws 400 for everything that has no meaning. */
function keysetList(
  given: URLSearchParams,
  { resource, access }: Accessible,
  list: Common,
  { isLines = false }: ListContext,
): ListRequest {
  const count = given.get('count');
  if (count !== null && count !== 'exact') throw invalidQuery('count', 'must be exact, or absent');
  const { selection, sorts, excerpts } = list;
  const keyset = keysetOf(resource, sorts, access);
  const identity = listIdentity(resource, selection, sorts);
  const limit = readInteger('limit', given.get('limit'), DEFAULT_LIMIT, MAX_LIMIT);
  const position = readPosition(given, identity, keyset);
  const isPage = !isLines || excerpts || PAGED.some((name) => given.has(name));
  const rest = new URLSearchParams(given);
  rest.set('limit', String(limit));
  return {
    counts: count === 'exact',
    part: isPage ? { kind: 'keyset', limit, keyset, position, identity } : { kind: 'all' },
    repeated: without(rest, ['after', 'before']),
    ...list,
  };
}

/** Parameters whose response is a page in lines, too. */
const PAGED = ['after', 'before', 'limit', 'include'];

function readPosition(given: URLSearchParams, identity: string, keyset: Keyset): Position | undefined {
  const [side, other] = (['after', 'before'] as const).filter((name) => given.has(name));
  if (other) throw invalidQuery('before', 'cannot be combined with after');
  return side && readCursor(given.get(side)!, side, identity, keyset);
}

/** The parameters of an address but some. */
const without = (given: URLSearchParams, names: readonly string[]): string =>
  String(new URLSearchParams([...given].filter(([name]) => !names.includes(name))));

/** The text that is searched for: in a tolerant list, its first MAX_SEARCH code points. Throws 400. */
export function searchIn(given: URLSearchParams, resource: Resource, isTolerant = false): string {
  const search = canSearch(resource) ? (given.get('search')?.trim() ?? '') : '';
  const isLong = search.length > MAX_SEARCH;
  const first = isLong ? [...search.slice(0, MAX_SEARCH * 2)].slice(0, MAX_SEARCH).join('') : search;
  if (isTolerant) return first;
  if (search.includes('\0')) throw invalidQuery('search', 'must not contain U+0000');
  if (first !== search) throw invalidQuery('search', `must have at most ${MAX_SEARCH} characters`);
  return search;
}

/** The selection of what is read from a request. Throws 403. */
export function selectionOf(
  conditions: readonly Condition[],
  records: Accessible,
  search: string,
  parent: string | undefined,
  sorts: readonly SortKey[] = [],
): Selection {
  const { resource } = records;
  const ofParent = parent === undefined ? {} : { parent };
  if (search === '') return { conditions, search: [], ...ofParent };
  requireFieldAccess(records, ...resource.searchable, ...resource.words);
  const words = wordsOf(resource, search, isByRelevance(resource, sorts));
  return {
    conditions,
    search: searchedTexts(resource, resource.searchable, search),
    ...(words && { words }),
    ...ofParent,
  };
}
