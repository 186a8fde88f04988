import type { Resource } from '../../collection/resource.js';
import type { Query } from '../../http/query-parameters.js';
import type { ListRequest } from '../../list/list-request.js';
import { escapeName } from '../../list/query-names.js';
import { hasGroups } from '../../list/read-groups.js';
import { listParameters, readList } from '../../list/read-list.js';
import { isRelevance, sortNames } from '../../list/read-sort.js';
import type { Others } from '../../list/relations.js';

/** Precedes the name of a condition in a form that names the last day instead of the next one. */
export const LAST_DAY = '_last ';

/** Precedes the name of the first day of a range that a form names by a word: a key of `DAYS`. */
export const NAMED_DAYS = '_days ';

/** The first of some days, if they have one, and the day after the last. */
export const DAYS: Readonly<Record<string, (today: string) => readonly [string | null, string]>> = {
  today: (today) => [today, dayAfter(today, 1)],
  'this week': (today) => {
    const monday = dayAfter(today, -((new Date(today).getUTCDay() + 6) % 7));
    return [monday, dayAfter(monday, 7)];
  },
  'before today': (today) => [null, today],
};

/** A day in the calendar of UTC, some days later. */
export function dayAfter(day: string, days: number): string {
  const time = Date.parse(day.slice(0, 10));
  return Number.isNaN(time) ? day : new Date(time + days * 86_400_000).toISOString().slice(0, 10);
}

/** Parameters of pages, and parameters of lists for what no page shows. */
const NOT_SHOWN = /^(_|include|excerpts|fields\[[^\]])/;

/** The query of a list's page as the API reads it: always a page, and without filters that were left empty. */
export function listQueryOf({ parameters: given }: Query): string {
  const stated = [...given].filter(
    ([name, value]) => !NOT_SHOWN.test(name) && !(value === '' && /^(filter\[|search$)/.test(name)),
  );
  const result = new URLSearchParams(stated);
  // The last day of a range counts as a whole.
  for (const [name, value] of given)
    if (name.startsWith(LAST_DAY) && value !== '')
      result.set(name.slice(LAST_DAY.length), dayAfter(value, 1));
    else if (name.startsWith(NAMED_DAYS) && Object.hasOwn(DAYS, value)) {
      const first = name.slice(NAMED_DAYS.length);
      const [from, end] = DAYS[value]!(new Date().toISOString().slice(0, 10));
      const until = first.replace(/gte\]$/, 'lt]');
      // Given days apply as well: the list has the days of both.
      const [given = '', last = end] = [first, until].map((each) => result.get(each) ?? undefined);
      if (from !== null) result.set(first, from > given ? from : given);
      result.set(until, end < last ? end : last);
    }
  // Each chosen column is a value of its own.
  const fields = result.getAll('fields');
  if (fields.length > 1) result.set('fields', [...new Set(fields)].join(','));
  // A form beside the list shows none of its records.
  if (given.has('_new') || given.has('_filter')) result.set('limit', '1');
  if (!result.has('page') && !hasGroups(result)) result.set('page', '1');
  return String(result);
}

/** How a list is sorted by a column: the address that sorts by it, and the direction if it is in effect. */
export interface Sort {
  readonly field: string;
  readonly href: () => string;
  readonly order?: 'asc' | 'desc' | undefined;
}

/** A list as its page reads and changes it. */
export class ListView {
  readonly parameters: URLSearchParams;
  #list: ListRequest | undefined;

  constructor(
    readonly resource: Resource,
    readonly path: string,
    query: Query,
    readonly others: Others,
  ) {
    this.parameters = new URLSearchParams(listQueryOf(query));
  }

  /** The list as the API reads it. Throws 400. */
  get list(): ListRequest {
    this.#list ??= this.#read();
    return this.#list;
  }

  #read(): ListRequest {
    const ofRecords = new URLSearchParams(this.parameters);
    // Groups have another order and another limit than the records.
    if (hasGroups(ofRecords))
      for (const name of ['group', 'aggregate', 'sort', 'limit']) ofRecords.delete(name);
    const context = { lists: 'numbered', others: this.others } as const;
    return readList(ofRecords, this, context);
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
      const isByRelevance = isRelevance(this.resource, each);
      if (isByRelevance && this.list.search === '') return [];
      const next = isByRelevance ? null : order === 'asc' ? 'desc' : 'asc';
      const name = isByRelevance ? each : escapeName(each);
      return { field: each, href: () => this.hrefWith({ sort: name, order: next }), order };
    });
  }
}
