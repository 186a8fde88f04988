import type { Json, JsonObject } from '../../src/json.js';
import { fulfils } from '../list/evaluator.js';
import type { ServiceResponse } from '../support/service.js';
import { recordsIn } from '../support/words.js';
import { FIELDS, NAMES, type Name, PARENTS, RELATIONS } from './drawn-rules.js';
import { called } from './feeds.js';
import { type Caller, NESTED } from './model.js';
import { bare, readFilter, requireFailure, type Surface, someFilter, someId, unreadable } from './reads.js';
import type { World } from './world.js';

interface Listed {
  readonly name: Name;
  readonly parent: { readonly to: Name; readonly id: string } | undefined;
  readonly filter: JsonObject;
  readonly search: string | undefined;
  readonly sorts: readonly string[];
}

function drawList(world: World): Listed {
  const { draw } = world;
  const isNested = draw.maybe(0.25);
  const name = draw.pick(isNested ? NESTED : NAMES);
  const { to } = PARENTS[name] ?? {};
  const isSearched = searchedOf(name).length > 0;
  const diary = String(draw.pick(world.model.data.issues!).diary ?? 'x');
  const words = ['red', 'note', 'text', '~1000', 'e', diary];
  const sortable = Object.keys(FIELDS[name]).filter(
    (field) => FIELDS[name][field]!['x-index'] && !['tags', 'isOpen'].includes(field),
  );
  const keys = ['created_at', ...sortable];
  return {
    name,
    parent: isNested && to ? { to, id: someId(world, to) } : undefined,
    filter: draw.maybe(0.6) ? someFilter(name, world) : {},
    search: isSearched && draw.maybe(0.3) ? draw.pick(words) : undefined,
    sorts: draw.maybe(0.5)
      ? []
      : Array.from({ length: 1 + draw.next(2) }, () => `${draw.maybe(0.5) ? '-' : ''}${draw.pick(keys)}`),
  };
}

/** The records of a list, in its order, or its failure. */
function expected(
  world: World,
  caller: Caller,
  { name, parent, filter, search, sorts }: Listed,
  /** The fields of groups. */
  groups: readonly string[] = [],
) {
  const { model } = world;
  const refusal = model.refusal(caller, name, 'read', parent?.to);
  if (refusal) return refusal;
  if (parent) {
    const record = model.find(parent.to, parent.id);
    if (!record || !model.view(caller, parent.to, record)) return { status: 404 };
  }
  const named = [...sorts.map((sort) => sort.replace('-', '')), ...groups].map((field) => [field]);
  const searched = search === undefined ? [] : [searchedOf(name)];
  const failure = unreadable(world, caller, name, filter, [...named, ...searched]);
  if (failure) return failure;
  const data = model.seenAll(caller);
  const records = model
    .seen(caller, name)
    .filter(
      (record) =>
        fulfils(data, RELATIONS, name, record, readFilter(filter)) &&
        (!parent || record[PARENTS[name]!.field] === parent.id) &&
        (search === undefined || contains(name, record, search)),
    );
  return { records: records.toSorted((a, b) => compare(a, b, sorts)) };
}

const searchedOf = (name: Name): string[] =>
  Object.keys(FIELDS[name]).filter((field) => FIELDS[name][field]!['x-search']);

const contains = (name: Name, record: JsonObject, search: string): boolean =>
  searchedOf(name).some((field) =>
    String(record[field] ?? '')
      .toLowerCase()
      .includes(search.toLowerCase()),
  );

/** The order of two records: records without a field are last, and of equal ones the ids decide. */
function compare(a: JsonObject, b: JsonObject, sorts: readonly string[]): number {
  for (const sort of sorts) {
    const field = sort.replace('-', '');
    const sign = sort.startsWith('-') ? -1 : 1;
    if (field === 'created_at') return String(a.id) < String(b.id) ? -sign : sign;
    const [mine, other] = [a[field], b[field]];
    if (mine === other) continue;
    if (mine === undefined || other === undefined) return mine === undefined ? 1 : -1;
    return mine! < other! ? -sign : sign;
  }
  const sign = sorts.at(-1)?.startsWith('-') ? -1 : 1;
  return String(a.id) < String(b.id) ? -sign : sign;
}

const pathOf = ({ name, parent }: Listed) => (parent ? `/${parent.to}/${parent.id}/${name}` : `/${name}`);

const bodyOf = ({ filter, search, sorts }: Listed): JsonObject => ({
  ...(Object.keys(filter).length > 0 ? { filter } : {}),
  ...(search === undefined ? {} : { search }),
  ...(sorts.length > 0 ? { sort: [...sorts] } : {}),
});

/** A list by QUERY and GET, as numbered page, as lines, as CSV and as HTML. */
export const listing: Surface = async (world, caller) => {
  const { draw, t } = world;
  const list = drawList(world);
  const limit = draw.pick([3, 7, 100]);
  const body = { ...bodyOf(list), limit, page: 1 };
  const path = pathOf(list);
  const shown = `${caller.label} QUERY ${path} ${JSON.stringify(body)}`;
  const found = await world.send(caller, 'QUERY', path, { body });
  const result = expected(world, caller, list);
  if ('status' in result) return requireFailure(world, found, result, shown);
  const { records } = result;
  t.equal(found.status, 200, `${shown}: ${found.text}`);
  t.same(found.json.data.map(bare), records.slice(0, limit), shown);
  t.equal(found.json.meta.total, records.length, `the total of ${shown}`);
  const address = found.headers.location;
  if (address === undefined) return;
  const again = await world.send(caller, 'GET', address);
  t.same(again.json.data, found.json.data, `${caller.label} GET ${address}`);
  const second = address.replace('page=1', 'page=2');
  const later = (await world.send(caller, 'GET', second)).json.data as JsonObject[];
  t.same(later.map(bare), records.slice(limit, 2 * limit), `${caller.label} GET ${second}`);
  const [target, query = ''] = address.split('?');
  const whole = `${target}?${query.replace(/&?(limit|page)=\d+/g, '')}`;
  const lines = await world.send(caller, 'GET', whole, { headers: { accept: 'application/x-ndjson' } });
  t.same(recordsIn(lines.text), records, `${caller.label} ${whole} as lines`);
  const csv = await world.send(caller, 'GET', whole, { headers: { accept: 'text/csv' } });
  t.equal(csv.text.split('\r\n').length - 2, records.length, `${caller.label} ${whole} as CSV: ${csv.text}`);
  const html = await world.send(caller, 'GET', address, { headers: { accept: 'text/html' } });
  t.equal(html.status, 200, `${caller.label} ${address} as HTML`);
};

/** A page of all callers at once, again and again: they share statements, and find pages in memory until something is written. */
export const readingTogether: Surface = async (world) => {
  const { callers, draw, t } = world;
  const drawn = drawList(world);
  // Pages of all that callers may read, and others.
  const list: Listed = draw.maybe(0.7)
    ? { ...drawn, parent: undefined, filter: {}, search: undefined, sorts: drawn.sorts.slice(0, 1) }
    : drawn;
  const limit = draw.pick([3, 100]);
  const body = { ...bodyOf(list), limit, page: 1 };
  for (let round = 0; round < 6; round++) {
    const results = callers.map((caller) => expected(world, caller, list));
    const order = draw.maybe(0.5) ? callers : callers.toReversed();
    await Promise.all(
      order.map(async (caller) => {
        const found = await world.send(caller, 'QUERY', pathOf(list), { body });
        const shown = `${caller.label} QUERY ${pathOf(list)} ${JSON.stringify(body)}, round ${round}`;
        const result = results[callers.indexOf(caller)]!;
        if ('status' in result) return requireFailure(world, found, result, shown);
        t.equal(found.status, 200, `${shown}: ${found.text}`);
        t.same(found.json.data.map(bare), result.records.slice(0, limit), shown);
        t.equal(found.json.meta.total, result.records.length, `the total of ${shown}`);
      }),
    );
    if (!draw.maybe(0.3)) continue;
    await world.add(draw.pick(NAMES));
    await world.refresh();
  }
};

/** A list of version 2, from its first page to its last and back. */
export const paging: Surface = async (world, caller) => {
  const { draw, t } = world;
  const list = drawList(world);
  const query = new URLSearchParams({ limit: String(2 + draw.next(5)), count: 'exact' });
  if (list.sorts.length > 0) query.set('sort', list.sorts.join(','));
  if (list.search !== undefined) query.set('search', list.search);
  const plain = { ...list, filter: {} };
  let path: string | null = `/api/v2${pathOf(list)}?${String(query)}`;
  const shown = `${caller.label} GET ${path}`;
  const result = expected(world, caller, plain);
  const pages: JsonObject[][] = [];
  for (let last: string | null = null; path !== null && pages.length < 60; ) {
    const found: ServiceResponse = await world.send(caller, 'GET', path);
    if ('status' in result) return requireFailure(world, found, result, shown);
    t.equal(found.status, 200, `${shown}: ${path}: ${found.text}`);
    t.equal(found.json.meta.total, result.records.length, `the total of ${shown}`);
    pages.push(found.json.data.map(bare));
    last = path;
    path = found.json.links.next;
    if (path !== null || pages.length < 2) continue;
    const back: ServiceResponse = await world.send(caller, 'GET', found.json.links.prev);
    t.same(back.json.data.map(bare), pages.at(-2), `${caller.label} back from ${last}`);
  }
  if (!('status' in result)) t.same(pages.flat(), result.records, shown);
};

/** Groups and aggregates of a list. */
export const grouping: Surface = async (world, caller) => {
  const { draw, t } = world;
  const list = { ...drawList(world), search: undefined, sorts: [] };
  const keys: Readonly<Record<Name, readonly string[]>> = {
    people: ['region', 'level'],
    teams: ['code'],
    memberships: ['role', 'teamId'],
    issues: ['status', 'isOpen', 'code', 'teamId', 'note'],
    comments: ['likes', 'issueId'],
  };
  const [key, number] = [
    draw.pick(keys[list.name]),
    { people: 'level', issues: 'estimate', comments: 'likes' }[list.name as string],
  ];
  const aggregate = ['count', ...(number ? [`sum(${number})`, `max(${number})`] : [])];
  const body = { ...bodyOf(list), group: [key], aggregate, limit: 100 };
  const shown = `${caller.label} QUERY ${pathOf(list)} ${JSON.stringify(body)}`;
  const found = await world.send(caller, 'QUERY', pathOf(list), { body });
  const result = expected(world, caller, list, [key, ...(number ? [number] : [])]);
  if ('status' in result) return requireFailure(world, found, result, shown);
  t.equal(found.status, 200, `${shown}: ${found.text}`);
  const groups = new Map<Json, JsonObject[]>();
  for (const record of result.records) {
    const value = record[key] ?? null;
    groups.set(value, [...(groups.get(value) ?? []), record]);
  }
  const all = [...groups].map(([value, records]) => {
    const numbers = records.flatMap((record) =>
      number && record[number] !== undefined ? [Number(record[number])] : [],
    );
    return {
      [key]: value,
      count: records.length,
      ...(number && {
        [`sum(${number})`]: numbers.length > 0 ? numbers.reduce((sum, each) => sum + each, 0) : null,
        [`max(${number})`]: numbers.length > 0 ? Math.max(...numbers) : null,
      }),
    };
  });
  const sorted = (rows: readonly JsonObject[]) => rows.map((each) => JSON.stringify(each)).sort();
  t.same(sorted(found.json.data), sorted(all as JsonObject[]), shown);
};

/** The tools of agents. */
export const calling: Surface = async (world, caller) => {
  const { model, t } = world;
  if (caller.subject === undefined) return;
  const list = { ...drawList(world), parent: undefined, sorts: [] };
  const call = (name: string, args: JsonObject) => called(world, caller, name, args);
  const body = { ...bodyOf(list), limit: 50 };
  // Tools have no `true` in place of conditions.
  if (JSON.stringify(body).includes(':true')) return;
  const found = await call(`${list.name}_list`, body);
  const shown = `${caller.label} ${list.name}_list ${JSON.stringify(body)}: ${found.text}`;
  const result = expected(world, caller, list);
  const listed = found.json?.result?.structuredContent?.data;
  t.equal(listed === undefined, 'status' in result, shown);
  if (!('status' in result) && listed) t.same(listed.map(bare), result.records.slice(0, 50), shown);
  const id = someId(world, list.name);
  const got = await call(`${list.name}_get`, { id });
  const record = model.find(list.name, id);
  const view = model.refusal(caller, list.name, 'read')
    ? undefined
    : record && model.view(caller, list.name, record);
  const content = got.json?.result?.structuredContent?.record;
  t.same(content && bare(content), view, `${caller.label} ${list.name}_get ${id}: ${got.text}`);
};
