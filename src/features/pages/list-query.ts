import type { Resource } from '../../collection/resource.js';
import type { ListRequest } from '../../list/list-request.js';
import { escapeName, valuesOfAddress } from '../../list/query-names.js';
import { hasGroups } from '../../list/read-groups.js';
import { listParameters, readList } from '../../list/read-list.js';
import { isRelevance, sortNames } from '../../list/read-sort.js';
import type { Others } from '../../list/relations.js';
import type { Sort } from './list-table.js';

/** The query of a list's page as the API reads it: always a page, and without filters that were left empty. */
export function listQueryOf(query: string): string {
  const given = new URLSearchParams(query);
  const stated = [...given].filter(
    ([name, value]) => !name.startsWith('_') && !(value === '' && /^(filter\[|search$)/.test(name)),
  );
  const result = new URLSearchParams(stated);
  if (!result.has('page') && !hasGroups(valuesOfAddress(result))) result.set('page', '1');
  return String(result);
}

/** A list as its page reads and changes it. */
export class ListView {
  readonly parameters: URLSearchParams;
  readonly list: ListRequest;

  constructor(
    readonly resource: Resource,
    readonly path: string,
    query: string,
    others: Others,
  ) {
    this.parameters = new URLSearchParams(listQueryOf(query));
    const ofRecords = new URLSearchParams(this.parameters);
    // Groups have another order and another limit than the records.
    if (hasGroups(valuesOfAddress(ofRecords)))
      for (const name of ['group', 'aggregate', 'sort', 'limit']) ofRecords.delete(name);
    this.list = readList(valuesOfAddress(ofRecords), { resource }, { lists: 'numbered', others });
  }

  /** The address of the first page of another selection; null removes a parameter. */
  hrefWith(changes: Readonly<Record<string, string | null>>): string {
    const next = new URLSearchParams(this.parameters);
    next.delete('page');
    for (const [name, value] of Object.entries(changes)) {
      if (value === null) next.delete(name);
      else next.set(name, value);
    }
    const text = String(next);
    return text === '' ? this.path : `${this.path}?${text}`;
  }

  /** A link for each field that sorts. The one in effect reverses the direction. */
  sorts(): Sort[] {
    if (!listParameters(this.resource).includes('sort')) return [];
    const { field, direction } = this.list.sorts[0]!;
    return sortNames(this.resource).flatMap((each) => {
      const order = each === field ? direction : undefined;
      if (isRelevance(this.resource, each))
        return this.list.search === ''
          ? []
          : { field: each, href: this.hrefWith({ sort: each, order: null }), order };
      const next = order === 'asc' ? 'desc' : 'asc';
      return { field: each, href: this.hrefWith({ sort: escapeName(each), order: next }), order };
    });
  }
}
