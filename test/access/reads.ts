import type { Json, JsonObject } from '../../src/json.js';
import type { ServiceResponse } from '../support/service.js';
import { drawWhere, FIELDS, NAMES, type Name, RELATIONS } from './drawn-rules.js';
import type { Caller, Failure } from './model.js';
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
export const readFilter = (filter: JsonObject): JsonObject =>
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

/** The fields that a filter reads, with the collection that has them: of several that refer to a record, one is enough. */
function readIn(name: Name, filter: JsonObject): [Name, readonly string[]][] {
  return Object.entries(filter).flatMap(([key, given]): [Name, readonly string[]][] => {
    if (key === 'or' || key === 'and') return (given as JsonObject[]).flatMap((each) => readIn(name, each));
    if (key === 'not') return readIn(name, given as JsonObject);
    const relation = RELATIONS[name]![key];
    if (!relation) return [[name, [key]]];
    const to = relation.to as Name;
    const inner = relation.field === undefined ? Object.values(given as JsonObject)[0]! : given!;
    const own: [Name, readonly string[]] =
      relation.field === undefined ? [to, relation.referring!] : [name, [relation.field]];
    return [own, ...(inner === true ? [] : readIn(to, inner as JsonObject))];
  });
}

/**
 * The failure of a filter over relations to collections that the caller may not read, and of a filter, and `more` fields, that it may
 * read of no record.
 */
export function unreadable(
  world: World,
  caller: Caller,
  name: Name,
  filter: JsonObject,
  more: readonly (readonly string[])[] = [],
): Failure | undefined {
  const isForbidden = unrelated(world, caller, name, pathsIn(name, filter));
  const read = [...readIn(name, filter), ...more.map((fields) => [name, fields] as const)];
  const isDenied = read.some(([of, fields]) => !world.model.readsOne(caller, of, fields));
  if (isForbidden && isDenied) return { status: 403 };
  return isForbidden ? FORBIDDEN : isDenied ? DENIED : undefined;
}

const FORBIDDEN: Failure = { status: 403, code: 'INSUFFICIENT_SCOPE' };
const DENIED: Failure = { status: 403, code: 'FIELDS_DENIED' };

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
  }
  await revalidating(world, caller, path, accept, found, shown);
};

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
