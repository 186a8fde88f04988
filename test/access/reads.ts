import type { Json, JsonObject } from '../../src/json.js';
import { fulfils } from '../list/evaluator.js';
import type { ServiceResponse } from '../support/service.js';
import { drawWhere, FIELDS, NAMES, type Name, PARENTS, RELATIONS } from './drawn-rules.js';
import { type Caller, type Failure, holds, NESTED } from './model.js';
import type { World } from './world.js';

/** A request with what it must give. */
export type Surface = (world: World, caller: Caller) => Promise<void>;

const NO_ID = '01900000-0000-7000-8000-000000000000';

export function requireFailure(world: World, found: ServiceResponse, expected: Failure, shown: string): void {
  world.t.equal(found.status, expected.status, `${shown}: ${found.text}`);
  const code = found.json?.error?.code ?? found.json?.code;
  if (expected.code !== undefined && code !== undefined)
    world.t.equal(code, expected.code, `${shown}: ${found.text}`);
}

/** A JSON document without links. */
export const bare = ({ _links: _, ...record }: JsonObject): JsonObject => record;

/** The id of some record, or of none. */
export const someId = ({ model, draw }: World, name: Name): string =>
  draw.maybe(0.05) || model.data[name]!.length === 0 ? NO_ID : String(draw.pick(model.data[name]!).id);

/** A filter as requests have it: `$` has no meaning there. */
export const someFilter = (name: Name, world: World): JsonObject =>
  JSON.parse(
    JSON.stringify(drawWhere(name, world.draw)).replace(/"\$(\w+)(\.\w+)?"/g, (symbol) => {
      const { pick } = world.draw;
      const id = pick(world.model.data.people!).id;
      if (symbol === '"$now"') return '"2030-01-01"';
      if (symbol === '"$claims.teams"') return JSON.stringify([pick(world.model.data.teams!).id]);
      if (/roles/.test(symbol)) return '["owner","member"]';
      if (/tags/.test(symbol)) return '["red","blue"]';
      if (/max|level/.test(symbol)) return '2';
      if (/region/.test(symbol)) return '"north"';
      if (/status/.test(symbol)) return '"open"';
      return /tag/.test(symbol) ? '"red"' : JSON.stringify(id);
    }),
  ) as JsonObject;

/** The date that a filter of a time has is an instant. */
const readFilter = (filter: JsonObject): JsonObject =>
  JSON.parse(
    JSON.stringify(filter).replace(/("due":\{"\w+":"2030-01-01)"/g, '$1T00:00:00.000Z"'),
  ) as JsonObject;

/** The failure of a filter or of included relations that lead to a collection which the caller may not read. */
function unrelated(world: World, caller: Caller, name: Name, paths: readonly (readonly string[])[]): boolean {
  return paths.some((path) => {
    let at: string = name;
    return path.some((step) => {
      at = RELATIONS[at]![step]!.to;
      return !world.model.isRelated(caller, at as Name);
    });
  });
}

/** The relations to which a filter leads. */
function pathsIn(name: string, filter: JsonObject): string[][] {
  return Object.entries(filter).flatMap(([key, given]) => {
    if (key === 'or' || key === 'and') return (given as JsonObject[]).flatMap((each) => pathsIn(name, each));
    if (key === 'not') return pathsIn(name, given as JsonObject);
    const relation = RELATIONS[name]![key];
    if (!relation) return [];
    const inner = relation.field === undefined ? Object.values(given as JsonObject)[0]! : given!;
    const below = inner === true ? [] : pathsIn(relation.to, inner as JsonObject);
    return [[key], ...below.map((path) => [key, ...path])];
  });
}

const FORBIDDEN: Failure = { status: 403, code: 'INSUFFICIENT_SCOPE' };

/** GET and HEAD of a record, in all forms. */
export const getting: Surface = async (world, caller) => {
  const { model, draw, t } = world;
  const name = draw.pick(NAMES);
  const id = someId(world, name);
  const accept = draw.pick(['application/json', 'application/json', 'text/html', 'text/csv']);
  // The page of a record is about the whole record.
  const isPage = accept === 'text/html';
  const include = !isPage && draw.maybe(0.4) ? includes(world, name) : [];
  const fields =
    !isPage && draw.maybe(0.2) ? Object.keys(FIELDS[name]).filter(() => draw.maybe(0.5)) : undefined;
  const query = new URLSearchParams({
    ...(include.length > 0 ? { include: include.join(',') } : {}),
    ...(fields ? { fields: fields.join(',') } : {}),
  });
  const path = `/${name}/${id}${query.size > 0 ? `?${String(query)}` : ''}`;
  const shown = `${caller.label} GET ${path} ${accept}`;
  const found = await world.send(caller, 'GET', path, { headers: { accept } });
  const head = await world.send(caller, 'HEAD', path, { headers: { accept } });
  t.equal(head.status, found.status, shown);
  const refusal = model.refusal(caller, name, 'read');
  if (refusal) return requireFailure(world, found, refusal, shown);
  if (
    unrelated(
      world,
      caller,
      name,
      include.map((each) => each.replace('.count', '').split('.')),
    )
  )
    return requireFailure(world, found, FORBIDDEN, shown);
  const record = model.find(name, id);
  const view = record && model.view(caller, name, record);
  if (!view) return requireFailure(world, found, { status: 404 }, shown);
  t.equal(found.status, 200, `${shown}: ${found.text}`);
  if (accept === 'application/json') {
    t.same(bare(found.json), shownRecord(world, caller, name, view, include, fields), shown);
    requireLinks(world, caller, name, record, found.json._links);
  }
  await revalidating(world, caller, path, accept, found, shown);
};

/** A record has the link of each write that its caller may make, and none of a write or a list for which no grant is for the caller. */
function requireLinks(
  { t, model }: World,
  caller: Caller,
  name: Name,
  record: JsonObject,
  links: JsonObject,
): void {
  const isRuled = model.rules[name] !== undefined;
  for (const verb of ['update', 'delete'] as const) {
    const shown = `${caller.label} ${verb} ${name} ${JSON.stringify(record)}`;
    // An application deletes no account by `self`.
    const isAccount = name === 'people' && verb === 'delete' && !holds(caller, 'people:write');
    if (!isAccount && (!isRuled || model.held(caller, name, verb, record).length > 0))
      t.ok(Object.hasOwn(links, verb), shown);
    if ((isRuled && isAccount) || !model.might(caller, name, verb))
      t.notOk(Object.hasOwn(links, verb), shown);
  }
  for (const child of NESTED.filter((each) => PARENTS[each]!.to === name))
    t.equal(
      Object.hasOwn(links, child),
      model.might(caller, child, 'read'),
      `${caller.label} ${name} ${child}`,
    );
}

/** 304 for the ETag of the caller's own response alone, unless that of the operator is equal, and so is what it shows. */
async function revalidating(
  world: World,
  caller: Caller,
  path: string,
  accept: string,
  found: ServiceResponse,
  shown: string,
): Promise<void> {
  const { t, admin } = world;
  const etag = String(found.headers.etag);
  const again = await world.send(caller, 'GET', path, { headers: { accept, 'if-none-match': etag } });
  t.equal(again.status, 304, `${shown} again`);
  const missed = await world.send(caller, 'GET', path, { headers: { accept, 'if-match': '"0"' } });
  t.equal(missed.status, 412, `${shown} with If-Match`);
  const whole = await world.send(admin, 'GET', path, { headers: { accept } });
  const foreign = { accept, 'if-none-match': String(whole.headers.etag) };
  const compared = await world.send(caller, 'GET', path, { headers: foreign });
  if (compared.status === 304 && accept !== 'text/html')
    t.equal(whole.text, found.text, `${shown} with the ETag of the operator`);
}

/** Some relations to include, also over others, and counts. */
function includes({ draw }: World, name: Name): string[] {
  const relations = Object.entries(RELATIONS[name]!);
  return relations
    .filter(() => draw.maybe(0.4))
    .map(([relation, { to, field }]) => {
      if (field === undefined && draw.maybe(0.4)) return `${relation}.count`;
      if (draw.maybe(0.7)) return relation;
      return `${relation}.${draw.pick(Object.keys(RELATIONS[to]!))}`;
    });
}

/** A record as the caller sees it, with related records that it sees. */
function shownRecord(
  world: World,
  caller: Caller,
  name: Name,
  view: JsonObject,
  include: readonly string[],
  fields: readonly string[] | undefined,
): JsonObject {
  const record = fields ? only(view, fields) : view;
  if (include.length === 0) return record;
  const related = Object.fromEntries(
    include.map((path) => {
      const [first, ...rest] = path.split('.') as [string, ...string[]];
      const { to, field, referring } = RELATIONS[name]![first]!;
      const others = world.model.seen(caller, to as Name);
      const below = (other: JsonObject) =>
        shownRecord(world, caller, to as Name, other, rest.length > 0 ? [rest.join('.')] : [], undefined);
      if (field !== undefined) {
        const other = others.find((each) => each.id === view[field]);
        return [path.split('.')[0]!, other ? below(other) : null] as [string, Json];
      }
      const found = others.filter((each) => referring!.some((column) => each[column] === view.id));
      if (rest[0] === 'count') return [path, found.length] as [string, Json];
      const sorted = found.toSorted((a, b) => (String(a.id) < String(b.id) ? -1 : 1)).slice(0, 20);
      return [first, sorted.map(below)] as [string, Json];
    }),
  );
  return { ...record, _included: related };
}

/** Some fields, in the order of a document, with those that each view has. */
const only = (record: JsonObject, fields: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(record).filter(([field]) => field === 'id' || fields.includes(field)));

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
  const isSearched = Object.values(FIELDS[name]).some((each) => each['x-search']);
  const words = [
    'red',
    'note',
    'text',
    '~1000',
    'e',
    draw.pick(world.model.data.issues!).diary ?? 'x',
  ] as string[];
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
function expected(world: World, caller: Caller, { name, parent, filter, search, sorts }: Listed) {
  const { model } = world;
  const refusal = model.refusal(caller, name, 'read', parent?.to);
  if (refusal) return refusal;
  if (parent) {
    const record = model.find(parent.to, parent.id);
    if (!record || !model.view(caller, parent.to, record)) return { status: 404 };
  }
  if (unrelated(world, caller, name, pathsIn(name, filter))) return FORBIDDEN;
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

const contains = (name: Name, record: JsonObject, search: string): boolean =>
  Object.entries(FIELDS[name]).some(
    ([field, rules]) =>
      rules['x-search'] &&
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
  t.same(
    (await world.send(caller, 'GET', address)).json.data,
    found.json.data,
    `${caller.label} GET ${address}`,
  );
  const second = address.replace('page=1', 'page=2');
  const later = (await world.send(caller, 'GET', second)).json.data as JsonObject[];
  t.same(later.map(bare), records.slice(limit, 2 * limit), `${caller.label} GET ${second}`);
  const [target, query = ''] = address.split('?');
  const whole = `${target}?${query.replace(/&?(limit|page)=\d+/g, '')}`;
  const lines = await world.send(caller, 'GET', whole, { headers: { accept: 'application/x-ndjson' } });
  const parsed = lines.text.split('\n').filter((line) => line !== '');
  t.same(
    parsed.map((line) => JSON.parse(line) as JsonObject),
    records,
    `${caller.label} ${whole} as lines`,
  );
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
  const result = expected(world, caller, list);
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
  const call = async (name: string, args: JsonObject) => {
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } };
    return world.send(caller, 'POST', '/mcp', { body });
  };
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
