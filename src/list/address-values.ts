import type { FilterTree, QueryValues } from '../http/query-values.js';
import { filterSegments, filterTree } from './query-names.js';

/** The parameters in the query of an address. */
export function valuesOfAddress(query: string | URLSearchParams): QueryValues {
  const given = new URLSearchParams(query);
  const names = [...new Set(given.keys())];
  return {
    isBody: false,
    names,
    all: (name) => given.getAll(name),
    filter: () => filterIn(given, names),
    address: () => given,
  };
}

function filterIn(given: URLSearchParams, names: readonly string[]): FilterTree {
  return filterTree(
    names.filter(isCondition).map((name) => {
      const values = given.getAll(name);
      return { name, segments: filterSegments(name), values, isList: values.length > 1 };
    }),
  );
}

/** Whether a parameter is a condition, in whatever form. */
export const isCondition = (name: string): boolean => /^filter(\[|$)/.test(name);
