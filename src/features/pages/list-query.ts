import type { Resource } from '../../collection/resource.js';
import { hidden, type Part } from '../../formats/html.js';
import type { Query } from '../../http/query-parameters.js';
import type { Request } from '../../http/request.js';
import { escapeName, isCondition } from '../../list/query-names.js';
import { hasGroups } from '../../list/read-groups.js';
import { listParameters, readList } from '../../list/read-list.js';
import { isRelevance, sortNames } from '../../list/read-sort.js';
import { collectionOf, type Site } from './site.js';

/** Precedes the name of a condition in a form that names the last day instead of the next one. */
export const LAST_DAY = '_last ';

/** Precedes the name of the first day of a range that a form names by a word: a key of `DAYS`. */
export const NAMED_DAYS = '_days ';

/** How far the first of some days, if they have one, and the day after the last are from today. `past`: the days since Monday. */
export const DAYS: Readonly<Record<string, (past: number) => readonly [number | undefined, number]>> = {
  today: () => [0, 1],
  'this week': (past) => [-past, 7 - past],
  'before today': () => [undefined, 0],
};

/** A day in the calendar of UTC, some days later. */
export function dayAfter(day: string, days: number): string {
  const time = Date.parse(day.slice(0, 10));
  return Number.isNaN(time) ? day : new Date(time + days * 86_400_000).toISOString().slice(0, 10);
}

/** Parameters of pages, and parameters of lists for what no page shows. */
const NOT_SHOWN = /^(_|count$|include|excerpts|fields\[[^\]])/;

/** The query of a list's page as the API reads it: always a page, and without what was left empty in a form. */
export function listQueryOf({ parameters: given }: Query): string {
  const result = new URLSearchParams(
    [...given].filter(([name, value]) => !NOT_SHOWN.test(name) && value !== ''),
  );
  for (const [name, value] of given) {
    // The last day of a range counts as a whole.
    if (name.startsWith(LAST_DAY) && value !== '')
      result.set(name.slice(LAST_DAY.length), dayAfter(value, 1));
    if (!name.startsWith(NAMED_DAYS) || !Object.hasOwn(DAYS, value)) continue;
    const first = name.slice(NAMED_DAYS.length);
    const today = new Date();
    const [from, end] = DAYS[value]!((today.getUTCDay() + 6) % 7);
    if (from !== undefined) result.set(first, dayAfter(today.toISOString(), from));
    result.set(first.replace(/gte\]$/, 'lt]'), dayAfter(today.toISOString(), end));
  }
  // Each chosen column is a value of its own.
  const fields = result.getAll('fields');
  if (fields.length > 1) result.set('fields', [...new Set(fields)].join(','));
  if (!result.has('page') && !hasGroups(result)) result.set('page', '1');
  return String(result);
}

/** An order of a list: the parameter and the address that sort by a field, and the direction if it is in effect. */
export type Sort = ReturnType<ListView['sorts']>[number];

/** A list as its page reads and changes it. */
export class ListView {
  readonly parameters: URLSearchParams;
  readonly path: string;

  constructor(
    readonly resource: Resource,
    readonly site: Site,
    request: Pick<Request, 'path' | 'query'>,
  ) {
    this.path = site.prefix + request.path;
    this.parameters = new URLSearchParams(listQueryOf(request.query));
  }

  /** Which records the list has: its conditions and its search. */
  get selection(): URLSearchParams {
    return new URLSearchParams(
      [...this.parameters].filter(([name]) => isCondition(name) || name === 'search'),
    );
  }

  /** The names of the columns that the address chooses. */
  get chosen(): readonly string[] | undefined {
    return this.parameters.get('fields')?.split(',');
  }

  /** The address of the first page with other parameters; null removes one. */
  hrefWith(changes: Readonly<Record<string, string | null>>, given = this.parameters): string {
    const next = new URLSearchParams(given);
    next.delete('page');
    for (const [name, value] of Object.entries(changes)) {
      if (value === null) next.delete(name);
      else next.set(name, value);
    }
    const text = String(next);
    return text === '' ? this.path : `${this.path}?${text}`;
  }

  /** The parameters besides some, as a form repeats them. */
  without(...names: readonly string[]): Part {
    return [...this.parameters].flatMap(([name, value]) => (names.includes(name) ? [] : hidden(name, value)));
  }

  /** The fields by which the list can be sorted, with their names in an address. */
  get sortable() {
    const { resource, parameters } = this;
    if (!listParameters(resource).includes('sort') || hasGroups(parameters)) return [];
    const isSearched = (parameters.get('search') ?? '').trim() !== '';
    const fields = sortNames(resource).filter((each) => isSearched || !isRelevance(resource, each));
    return fields.map((field) => ({ field, name: escapeName(field) }));
  }

  /** An order by each field that sorts. The one in effect reverses the direction. Throws 400. */
  sorts() {
    const { parameters, site, sortable } = this;
    // The action has permitted the relations of the query already.
    const others = (name: string) => ({ resource: collectionOf(site, name)!.resource, access: undefined });
    const { sorts } = readList(parameters, this, { lists: 'numbered', others });
    const { field: present, direction } = sorts[0]!;
    return sortable.map(({ field, name }) => {
      const order = field === present ? direction : undefined;
      const href = () => this.hrefWith({ sort: name, order: order === 'asc' ? 'desc' : 'asc' });
      return { field, href, order };
    });
  }
}
