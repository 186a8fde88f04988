import { searchedTexts } from '../collection/normalized-text.js';
import type { Resource } from '../collection/resource.js';
import type { Selection } from '../collection/sql-templates.js';
import { invalidQuery } from '../errors/query-errors.js';
import { type ExtendedQuery, listIn, readFields, readInclude, readSorts } from './extended-query.js';
import { readFilter } from './filter.js';
import { type Keyset, keysetOf, listIdentity, type Position, readCursor } from './keyset.js';
import { DEFAULT_LIMIT, MAX_LIMIT, MAX_SEARCH } from './list-query.js';

/** The parameters of a list whose pages are between cursors. */
export interface KeysetQuery {
  readonly limit: number;
  readonly position: Position | undefined;
  readonly keyset: Keyset;
  readonly extended: ExtendedQuery;
  readonly selection: Selection;
  /** Identifies the list in its cursors. */
  readonly identity: string;
  /** Whether the query is about one page, and not about all records. */
  readonly isPage: boolean;
  /** The parameters besides the cursor, as links repeat them. */
  readonly repeated: URLSearchParams;
}

/** The parameters that a list has. */
export function keysetParameters({ searchable }: Resource): string[] {
  const search = searchable.length > 0 ? ['search'] : [];
  return ['after', 'before', 'limit', 'sort', ...search, 'filter', 'fields', 'include', 'count'];
}

/** Reads a query. Throws 400 for everything that has no meaning. */
export function readKeysetQuery(query: string, resource: Resource, parent?: string): KeysetQuery {
  const given = new URLSearchParams(query);
  requireSingle(given);
  const sort = listIn(given, 'sort');
  const sorts =
    sort === undefined ? [{ field: 'created_at', direction: resource.direction }] : readSorts(sort, resource);
  const extended: ExtendedQuery = {
    conditions: readFilter(given, resource),
    sorts,
    fields: readFields(listIn(given, 'fields'), resource),
    include: readInclude(listIn(given, 'include'), resource),
    count: readCount(given.get('count')),
  };
  const search = readSearch(given.get('search'));
  const [first] = sorts;
  const selection: Selection = {
    sort: first!.field,
    order: first!.direction,
    search: searchedTexts(resource, search),
    ...(parent === undefined ? {} : { parent }),
  };
  const keyset = keysetOf(resource, sorts);
  const identity = listIdentity(resource, extended, selection);
  const limit = readLimit(given.get('limit'));
  return {
    limit,
    position: readPosition(given, identity, keyset),
    keyset,
    extended,
    selection,
    identity,
    isPage: ['after', 'before', 'limit', 'include'].some((name) => given.has(name)),
    repeated: repeatedIn(given, limit),
  };
}

const SINGLE = ['after', 'before', 'limit', 'search', 'count'];

function requireSingle(given: URLSearchParams): void {
  const repeated = SINGLE.find((name) => given.getAll(name).length > 1);
  if (repeated !== undefined) throw invalidQuery(repeated, 'must be given once');
}

function readLimit(text: string | null): number {
  if (text === null) return DEFAULT_LIMIT;
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > MAX_LIMIT)
    throw invalidQuery('limit', `must be an integer from 1 to ${MAX_LIMIT}`);
  return limit;
}

function readCount(text: string | null): 'exact' | 'none' {
  if (text === null) return 'none';
  if (text !== 'exact') throw invalidQuery('count', 'must be exact, or absent');
  return text;
}

function readSearch(text: string | null): string {
  const search = text?.trim() ?? '';
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

function repeatedIn(given: URLSearchParams, limit: number): URLSearchParams {
  const repeated = new URLSearchParams([...given].filter(([name]) => name !== 'after' && name !== 'before'));
  repeated.set('limit', String(limit));
  return repeated;
}
