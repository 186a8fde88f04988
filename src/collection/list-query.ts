import type { Resource } from './resource.js';
import type { Selection } from './sql-templates.js';

/** The parameters of a list, as the specification reads them. */
export interface ListQuery {
  /** `page` or `limit` was given. */
  readonly paged: boolean;
  /** `sort`, `order` or `search` was given. */
  readonly filtered: boolean;
  readonly page: number;
  readonly limit: number;
  readonly selection: Selection;
  /** The given ones of sort, order and search, in their effective form, as links repeat them: `&sort=name`. */
  readonly suffix: string;
}

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;
const MAX_SEARCH = 100;

/** Reads a query; nothing in it is an error, since every parameter has an effective value for any text. */
export function readListQuery(query: string, resource: Resource, parent?: string): ListQuery {
  const given = new URLSearchParams(query);
  const narrow = resource.list === 'page';
  const sort = given.get('sort') ?? '';
  const order = given.get('order');
  const search = resource.searchable === undefined ? '' : cut(given.get('search') ?? '');
  const selection: Selection = {
    sort: Object.hasOwn(resource.sortable, sort) ? sort : 'created_at',
    order: narrow && (order === 'asc' || order === 'desc') ? order : resource.direction,
    search,
    ...(parent === undefined ? {} : { parent }),
  };
  const repeated = narrow ? (['sort', 'order', 'search'] as const).filter((name) => given.has(name)) : [];
  return {
    paged: given.has('page') || given.has('limit'),
    filtered: repeated.length > 0,
    page: atLeastOne(Number.parseInt(given.get('page') ?? '', 10), 1),
    limit: Math.min(
      atLeastOne(Number.parseInt(given.get('limit') ?? '', 10) || Number.NaN, DEFAULT_LIMIT),
      MAX_LIMIT,
    ),
    selection,
    suffix: repeated.map((name) => `&${name}=${encodeURIComponent(selection[name])}`).join(''),
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
