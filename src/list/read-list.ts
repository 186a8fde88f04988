import { canSearch, RELEVANCE, type Resource, searchedTexts } from '../collection/resource.js';
import { invalidQuery } from '../errors/input-errors.js';
import type { Selection } from './condition.js';
import { keysetOf, listIdentity, readCursor } from './keyset.js';
import { type ListRequest, MAX_LIMIT, MAX_SEARCH, type Part } from './list-request.js';
import { escapeName, FLAGS, listIn, readChoice, readInteger, unescapeName } from './query-names.js';
import { readView } from './read-fields-and-includes.js';
import { readFilter } from './read-filter.js';
import { isByRelevance, isRelevance, readSorts, type SortKey, sortKeyOf } from './read-sort.js';
import { type Accessible, type Others, requireFieldAccess } from './relations.js';
import { wordsOf } from './words.js';

const DEFAULT_LIMIT = 20;
const EXCERPTS = 'excerpts';

/** The parameters of a list besides those of the specification. */
const EXTENDED_PARAMETERS = [EXCERPTS, 'filter', 'fields', 'include', 'count', 'group', 'aggregate'];

/** Parameters of pages, which links replace. */
const OF_PAGES = ['page', 'limit', 'after', 'before'];

/** The parameters of a list whose pages are numbered, or between cursors. */
export const listParameters = (resource: Resource, lists: ListContext['lists'] = 'numbered'): string[] => [
  ...(lists === 'keyset' ? ['after', 'before', 'limit', 'sort'] : ['page', 'limit']),
  ...(lists === 'numbered' && isSortable(resource) ? ['sort', 'order'] : []),
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
  const { resource, access } = records;
  const { lists, isOfBody = false, others } = context;
  const isTolerant = resource.hasTolerantLists && !isOfBody && lists === 'numbered';
  const search = searchIn(given, resource, isTolerant);
  const sorts = isTolerant
    ? tolerantOrder(given, records, search)
    : strictOrder(given, records, search, context);
  const selection = readSelection(given, records, context, search, sorts);
  const excerpts = readChoice(EXCERPTS, given.get(EXCERPTS), FLAGS) === 'true';
  const count = readChoice('count', given.get('count'), ['exact', 'none']);
  const keyset = keysetOf(resource, sorts, access);
  const list = { selection, sorts, keyset, search, excerpts, ...readView(given, resource, others) };
  const part = lists === 'keyset' ? keysetPart(given, resource, list) : numberedPart(given, isTolerant);
  // Node 20 takes microseconds for a spread before further members.
  return {
    counts: lists === 'keyset' ? count === 'exact' : count !== 'none',
    part: hasPages(given, resource, isTolerant, context) ? part : { kind: 'all' },
    repeated: String(new URLSearchParams([...given].filter(([name]) => !OF_PAGES.includes(name)))),
    ...list,
  };
}

/** Whether a list has pages. Lines are pages if a parameter says so; a tolerant list is an array if it is sorted or searched alone. */
function hasPages(
  given: URLSearchParams,
  resource: Resource,
  isTolerant: boolean,
  { lists, isLines = false }: ListContext,
): boolean {
  const has = (names: readonly string[]) => names.some((name) => given.has(name));
  const hasIncludes = given.getAll('include').some((names) => names !== '');
  if (has(OF_PAGES) || hasIncludes || given.get(EXCERPTS) === 'true') return true;
  if (isLines || lists === 'keyset') return !isLines;
  if ([...given.keys()].some((name) => EXTENDED_PARAMETERS.includes(name.split('[', 1)[0]!))) return true;
  return resource.list === 'page' && !(isTolerant && has(['sort', 'order', 'search']));
}

/** One field, whose direction is in `order`; the default for every other text. Throws 403. */
function tolerantOrder(given: URLSearchParams, records: Accessible, search: string): readonly SortKey[] {
  const { resource } = records;
  const order = given.get('order');
  const direction = order === 'asc' || order === 'desc' ? order : resource.direction;
  const text = given.get('sort') ?? '';
  const name = unescapeName(text);
  // The name of one field, as it is or escaped: a minus, several names, or other backslashes are none.
  const key = [name, escapeName(name)].includes(text) ? sortKeyOf(escapeName(name), records) : undefined;
  const isByRank = key && isRelevance(resource, key.field);
  if (!key || (isByRank && search === '')) return [{ field: 'created_at', direction }];
  return [isByRank ? key : { ...key, direction }];
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
    throw invalidQuery('order', 'must be absent, or sort one field other than relevance, without a minus');
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

/** A page between cursors. Throws 400. */
function keysetPart(
  given: URLSearchParams,
  resource: Resource,
  { selection, sorts, keyset }: Pick<ListRequest, 'selection' | 'sorts' | 'keyset'>,
): Part {
  const identity = listIdentity(resource, selection, sorts);
  const limit = readInteger('limit', given.get('limit'), DEFAULT_LIMIT, MAX_LIMIT);
  const [side, other] = (['after', 'before'] as const).filter((name) => given.has(name));
  if (other) throw invalidQuery('before', 'cannot be combined with after');
  const position = side && readCursor(given.get(side)!, side, identity, keyset);
  return { kind: 'keyset', limit, position, identity };
}

/** The text that is searched for: in a tolerant list, its first MAX_SEARCH code points. Throws 400. */
function searchIn(given: URLSearchParams, resource: Resource, isTolerant = false): string {
  const search = canSearch(resource) ? (given.get('search')?.trim() ?? '') : '';
  const isLong = search.length > MAX_SEARCH;
  const first = isLong ? [...search.slice(0, MAX_SEARCH * 2)].slice(0, MAX_SEARCH).join('') : search;
  if (isTolerant) return first;
  if (search.includes('\0')) throw invalidQuery('search', 'must not contain U+0000');
  if (first !== search) throw invalidQuery('search', `must have at most ${MAX_SEARCH} characters`);
  return search;
}

/** Reads which records a request selects. Throws 400, 403. */
export function readSelection(
  given: URLSearchParams,
  records: Accessible,
  { parent, others }: Pick<ListContext, 'parent' | 'others'>,
  search = searchIn(given, records.resource),
  sorts: readonly SortKey[] = [],
): Selection {
  const { resource } = records;
  const conditions = readFilter(given, records, others);
  const ofParent = parent === undefined ? {} : { parent };
  if (search === '') return { conditions, search: [], ...ofParent };
  requireFieldAccess(records, ...resource.searchable, ...resource.words);
  const words = wordsOf(resource, search, isByRelevance(resource, sorts));
  const texts = searchedTexts(resource, resource.searchable, search);
  return { conditions, search: texts, ...(words && { words }), ...ofParent };
}
