import { canSearch, RELEVANCE, type Resource, searchedTexts } from '../collection/resource.js';
import { invalidQuery } from '../errors/input-errors.js';
import type { Condition, Selection } from './condition.js';
import { isByRelevance, type SortKey } from './read-sort.js';
import { type Accessible, requireFieldAccess } from './relations.js';
import { MAX_SEARCH, wordsOf } from './words.js';

export const EXCERPTS = 'excerpts';

/** A search without spaces around it, of which the first MAX_SEARCH code points remain. */
export function cut(search: string): string {
  const trimmed = search.trim();
  if (trimmed.length <= MAX_SEARCH) return trimmed;
  return [...trimmed.slice(0, MAX_SEARCH * 2)].slice(0, MAX_SEARCH).join('');
}

/** The text that is searched for. Throws 400. */
export function searchIn(given: URLSearchParams, resource: Resource): string {
  const search = canSearch(resource) ? (given.get('search')?.trim() ?? '') : '';
  if (search.includes('\0')) throw invalidQuery('search', 'must not contain U+0000');
  if (search.length > MAX_SEARCH && [...search].length > MAX_SEARCH)
    throw invalidQuery('search', `must have at most ${MAX_SEARCH} characters`);
  return search;
}

/** Throws 400 for an order by the relevance for no search. */
export function requireSearch(sorts: readonly SortKey[], resource: Resource, search: string): void {
  if (search === '' && isByRelevance(resource, sorts))
    throw invalidQuery('sort', `can be ${RELEVANCE} only with search`);
}

/** Whether records have excerpts; undefined: the request says nothing of them. Throws 400. */
export function readExcerpts(given: URLSearchParams, { words }: Resource): { readonly excerpts?: boolean } {
  const text = words.length > 0 ? given.get(EXCERPTS) : null;
  if (text === null) return {};
  if (text !== 'true' && text !== 'false') throw invalidQuery(EXCERPTS, 'must be true or false');
  return { excerpts: text === 'true' };
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
