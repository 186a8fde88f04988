import { searchedTexts } from '../collection/normalized-text.js';
import type { Resource } from '../collection/resource.js';
import type { Selection } from '../collection/sql-templates.js';
import {
  EXTENDED_PARAMETERS,
  type ExtendedQuery,
  findSorts,
  isSingleSort,
  readExtended,
  readSorts,
  type SortKey,
} from './extended-query.js';
import { escapeName, splitNames } from './query-names.js';

/** The parameters of a list, as the specification reads them. */
export interface ListQuery {
  /** `page` or `limit` was given. */
  readonly paged: boolean;
  /** `sort`, `order` or `search` was given. */
  readonly filtered: boolean;
  readonly page: number;
  readonly limit: number;
  readonly selection: Selection;
  /** The text that is searched for, as it was given. */
  readonly search: string;
  /** The given ones of sort, order and search, in their effective form, as links repeat them: `&sort=name`. */
  readonly suffix: string;
  /** What is queried besides these; undefined: nothing. */
  readonly extended: ExtendedQuery | undefined;
  /** The names that the list has. */
  readonly parameters: readonly string[];
}

export const DEFAULT_LIMIT = 20;
export const MAX_LIMIT = 100;
export const MAX_SEARCH = 100;

/** The parameters that a list has. */
export function listParameters({ list, sortable, searchable }: Resource): string[] {
  const isSortable = list === 'page' || sortable.length > 0;
  return [
    'page',
    'limit',
    ...(isSortable ? ['sort', 'order'] : []),
    ...(searchable.length > 0 ? ['search'] : []),
    ...EXTENDED_PARAMETERS,
  ];
}

/**
 * Reads a query. Each of the five parameters of the specification has an effective value for any text, unless the query was
 * made from another form (`isTranslated`), whose keys are all meant. Throws 400 for anything invalid in the others.
 */
export function readListQuery(
  query: string,
  resource: Resource,
  parent?: string,
  isTranslated = false,
): ListQuery {
  const given = new URLSearchParams(query);
  const parameters = listParameters(resource);
  const isSortable = parameters.includes('sort');
  const order = given.get('order');
  const search = resource.searchable.length === 0 ? '' : cut(given.get('search') ?? '');
  const { sort, sorts } = readOrder(given.get('sort'), resource, isTranslated);
  const selection: Selection = {
    sort: sort ?? 'created_at',
    order: isSortable && (order === 'asc' || order === 'desc') ? order : resource.direction,
    search: searchedTexts(resource, search),
    ...(parent === undefined ? {} : { parent }),
  };
  const extended = readExtended(given, resource, sorts);
  const repeated = (['sort', 'order', 'search'] as const).filter(
    (name) => parameters.includes(name) && given.has(name),
  );
  const effective = { sort: escapeName(selection.sort), order: selection.order, search };
  return {
    parameters,
    paged: given.has('page') || given.has('limit'),
    filtered: repeated.length > 0,
    page: atLeastOne(Number.parseInt(given.get('page') ?? '', 10), 1),
    limit: Math.min(
      atLeastOne(Number.parseInt(given.get('limit') ?? '', 10) || Number.NaN, DEFAULT_LIMIT),
      MAX_LIMIT,
    ),
    selection,
    search,
    extended,
    suffix: extended
      ? suffixOf(given)
      : repeated.map((name) => `&${name}=${encodeURIComponent(effective[name])}`).join(''),
  };
}

/** One field whose direction is in `order`, or several keys; neither: the order is the default. Throws 400 if all keys are meant. */
function readOrder(
  text: string | null,
  resource: Resource,
  isTranslated: boolean,
): { readonly sort?: string; readonly sorts?: readonly SortKey[] } {
  if (text === null) return {};
  const names = splitNames(text);
  const keys = isTranslated ? readSorts(names, resource) : findSorts(names, resource);
  if (keys === undefined) return {};
  if (isSingleSort(names)) return { sort: keys[0]!.field };
  return resource.hasOneSort && !isTranslated ? {} : { sorts: keys };
}

/** The parameters besides `page` and `limit`, as links repeat them. */
export function suffixOf(given: URLSearchParams): string {
  const rest = new URLSearchParams([...given].filter(([name]) => name !== 'page' && name !== 'limit'));
  const text = String(rest);
  return text === '' ? '' : `&${text}`;
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
