import type { Engine } from '../database-url/engine.js';
import { isSearch } from './condition.js';
import type { ListRequest } from './list-request.js';
import { hasTrigram, searchValue } from './search-sql.js';

/** A page that ends before this row is read from the beginning: what precedes it is cheaper to skip than to look up. */
export const FIRST_ROWS = 500;

/**
 * `short`: one of few texts, whose cost depends on the page alone. `search`: one of few texts, whose cost grows with the
 * records that it finds or skips. `query`: a text of its own for each combination of conditions.
 */
export type Cost = 'short' | 'search' | 'query';

/** How the records of a numbered page are found: the name of its statement, without `page_`. */
export type Kind = 'first' | 'counted' | 'deep' | 'of_parent' | 'matching' | 'matching_short' | 'queried';

/** The statements of kinds that have none of their own on an engine. */
export const COMMON: Partial<Record<Kind, string>> = {
  deep: 'page_found',
  of_parent: 'page_found',
  matching_short: 'page_matching',
};

/** The name of a statement in traces. */
export const nameOf = (form: 'page' | 'stream', kind: Kind): string =>
  kind === 'first' ? form : `${form}_${kind}`;

/** How a page that ends at `end` is found, and the values of its conditions. */
export function kindOf(
  { selection, sorts, counts }: ListRequest,
  end: number,
): { readonly kind: Kind; readonly values: readonly string[]; readonly cost: Cost } {
  const { conditions, parent, search, words, access } = selection;
  const [term] = search;
  const isComposed =
    !counts ||
    sorts.length > 1 ||
    conditions.length > 0 ||
    access !== undefined ||
    search.length > 1 ||
    words !== undefined ||
    (term !== undefined && parent !== undefined);
  if (isComposed) return { kind: 'queried', values: [], cost: 'query' };
  if (parent !== undefined) return { kind: 'of_parent', values: [parent], cost: 'short' };
  if (term !== undefined) {
    const kind = hasTrigram(term) ? 'matching' : 'matching_short';
    return { kind, values: [searchValue(term)], cost: 'search' };
  }
  if (end <= FIRST_ROWS) return { kind: 'first', values: [], cost: 'short' };
  const isCounted = sorts[0]!.field === 'created_at';
  return { kind: isCounted ? 'counted' : 'deep', values: [], cost: isCounted ? 'short' : 'search' };
}

/**
 * The statement of a page with conditions that ends at `end`. If a total has to find all matches, those of costly conditions are
 * found once. A shorter statement takes less time to plan.
 */
export function shapeOf({ selection, counts }: ListRequest, end: number, engine: Engine): string {
  if (!engine.correlates) return 'page_queried';
  const isCostly = selection.conditions.some(({ kind }) => kind !== 'comparison');
  if (isSearch(selection) || (counts && isCostly)) return 'page_matching';
  return isCostly || end > FIRST_ROWS ? 'page_found' : 'page_queried';
}
