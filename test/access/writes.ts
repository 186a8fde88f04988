import type { JsonObject } from '../../src/json.js';
import type { Data } from '../list/evaluator.js';
import type { ServiceResponse } from '../support/service.js';
import { FIELDS, NAMES, type Name, PARENTS } from './drawn-rules.js';
import { type Caller, type Failure, Model, NESTED } from './model.js';
import { bare, requireFailure, type Surface, someFilter, someId, unreadable } from './reads.js';
import type { World } from './world.js';

const NEW_ID = 'new';

/** Reads all records, which must be the expected ones but for their times, and for the ids of those whose id is no UUID. */
export async function settle(world: World, expected: Data, shown: string): Promise<void> {
  const known = new Set(NAMES.flatMap((name) => expected[name]!.map(({ id }) => id)));
  const timeless = (data: Data) =>
    Object.fromEntries(
      NAMES.map((name) => [
        name,
        data[name]!.map(({ updated_at: _, created_at: __, ...record }) => record)
          .toSorted((a, b) => (String(a.id) < String(b.id) ? -1 : 1))
          .map(({ id, ...record }) => ({
            id: known.has(id) && String(id).includes('-') ? id! : 'new',
            ...record,
          })),
      ]),
    );
  const found = await world.refresh();
  world.t.same(timeless(found), timeless(expected), `the records after ${shown}`);
}

/** The response to a write shows the part of the record that the caller may read. */
function requireView(world: World, caller: Caller, name: Name, found: ServiceResponse, shown: string): void {
  const record = world.model.find(name, String(found.json.id))!;
  const { id, created_at, updated_at, _version } = record;
  const view = world.model.view(caller, name, record) ?? { id, created_at, updated_at, _version };
  world.t.same(bare(found.json), view, `${shown}: ${found.text}`);
}

export const withNew = ({ data }: Model, name: Name, id: string, input: JsonObject): Data => ({
  ...data,
  [name]: [...data[name]!, { id, ...input, _version: 1 }],
});

/** POST to a list or below a parent, some with a key of idempotence, whose replays show no more than a read would. */
export const creating: Surface = async (world, caller) => {
  const { draw, t } = world;
  const { model } = world;
  const isNested = draw.maybe(0.3);
  const name = draw.pick(isNested ? NESTED : NAMES);
  const parent = isNested ? PARENTS[name] : undefined;
  const parentId = parent && someId(world, parent.to);
  const body = world.record(name);
  const input = parent ? { ...body, [parent.field]: parentId! } : body;
  const path = parent ? `/${parent.to}/${parentId}/${name}` : `/${name}`;
  const key = draw.maybe(0.3) ? { 'idempotency-key': world.token() } : undefined;
  const shown = `${caller.label} POST ${path} ${JSON.stringify(body)}`;
  const send = () => world.send(caller, 'POST', path, { body, ...(key ? { headers: key } : {}) });
  const found = await send();
  const failure =
    model.refusal(caller, name, 'create', parent?.to) ??
    model.creation(caller, name, input, NEW_ID, parent?.field);
  if (failure) return requireFailure(world, found, failure, shown);
  t.equal(found.status, 201, `${shown}: ${found.text}`);
  const id = String(found.json.id);
  await settle(world, withNew(model, name, id, input), shown);
  requireView(world, caller, name, found, shown);
  if (!key) return;
  await disturb(world);
  const again = await send();
  const record = world.model.find(name, id);
  const view = record?._version === 1 ? world.model.view(caller, name, record) : undefined;
  // Without access rules, the first response is repeated.
  const expected = world.model.rules[name] === undefined ? bare(found.json) : view;
  t.equal(again.status, 201, `replayed ${shown}: ${again.text}`);
  t.equal(again.headers['idempotency-replayed'], 'true');
  t.same(again.json === undefined ? undefined : bare(again.json), expected, `replayed ${shown}`);
};

/** The operator changes what memberships, owners and assignees there are. */
export async function disturb(world: World): Promise<void> {
  const { draw, admin } = world;
  for (let n = 3; n > 0; n--) {
    const name = draw.pick(['memberships', 'teams', 'issues', 'people'] as const);
    const body = world.record(name);
    const type = 'application/merge-patch+json';
    await world.send(admin, 'PATCH', `/${name}/${someId(world, name)}`, { body, type });
  }
  await world.refresh();
}

/** The record before a change, and the fields of which the caller sees it. */
export function target(world: World, caller: Caller, name: Name, id = someId(world, name)) {
  const record = world.model.find(name, id);
  const fields = record && world.model.readable(caller, name, record);
  const isSeen = record !== undefined && fields !== 'hidden';
  return { id, record: isSeen ? record : undefined, readable: fields === 'hidden' ? undefined : fields };
}

const isDeclared = (name: Name) => (field: string) => Object.hasOwn(FIELDS[name], field);

/** The declared fields of a record that fulfil a condition. */
export const some = (name: Name, record: JsonObject, holds: (field: string) => boolean): JsonObject =>
  Object.fromEntries(Object.entries(record).filter(([field]) => isDeclared(name)(field) && holds(field)));

/** PUT and PATCH of a record, some with preconditions. */
export const changing: Surface = async (world, caller) => {
  const { draw, t, model } = world;
  const name = draw.pick(NAMES);
  const { id, record, readable } = target(world, caller, name);
  const sees = (field: string) => readable === undefined || readable.has(field);
  const kind = draw.pick(['put', 'merge', 'patch'] as const);
  const drawn = world.record(name);
  const retained = draw.maybe(0.6) && record ? some(name, record, sees) : {};
  const few = some(name, drawn, (field) => field === 'status' || draw.maybe(0.3));
  const removed = Object.keys(FIELDS[name]).filter((field) => field !== 'status' && draw.maybe(0.1));
  const put = {
    ...retained,
    ...(draw.maybe(0.7) ? some(name, few, sees) : few),
    ...status(name, record, drawn),
  };
  const merge = { ...(draw.maybe(0.7) ? some(name, few, sees) : few), ...nulls(removed) };
  const operations = Object.entries(few).map(([field, value]) => ({ op: 'add', path: `/${field}`, value }));
  const version = draw.pick([undefined, undefined, record?._version ?? 1, 99]);
  const headers = version === undefined ? {} : { 'if-match': `"${String(version)}"` };
  const isStale = version !== undefined && version !== record?._version;
  const request =
    kind === 'put'
      ? { method: 'PUT', body: put, type: 'application/json' }
      : kind === 'merge'
        ? { method: 'PATCH', body: merge, type: 'application/merge-patch+json' }
        : { method: 'PATCH', body: operations, type: 'application/json-patch+json' };
  const path = `/${name}/${id}`;
  const shown = `${caller.label} ${request.method} ${path} ${String(version)} ${JSON.stringify(request.body)}`;
  const found = await world.send(caller, request.method, path, {
    body: request.body,
    type: request.type,
    headers,
  });
  const refusal = model.refusal(caller, name, 'update');
  if (refusal) return requireFailure(world, found, refusal, shown);
  if (!record) return requireFailure(world, found, { status: 404 }, shown);
  const named = kind === 'put' ? put : kind === 'merge' ? merge : few;
  const hidden = some(name, record, (field) => !sees(field));
  const base = kind === 'put' ? hidden : some(name, record, () => true);
  const after = Object.fromEntries(
    Object.entries({ ...base, ...named }).filter(([, value]) => value !== null),
  ) as JsonObject;
  const unseen = Object.keys(named).filter((field) => !sees(field));
  const failure = failureOf(world, caller, name, { record, after, unseen, isStale });
  if (failure) return requireFailure(world, found, failure, shown);
  t.equal(found.status, 200, `${shown}: ${found.text}`);
  await settle(world, model.changed(name, id, after), shown);
  requireView(world, caller, name, found, shown);
};

/** A PUT needs the required field. */
const status = (name: Name, record: JsonObject | undefined, drawn: JsonObject): JsonObject =>
  name === 'issues' ? { status: record?.status ?? drawn.status! } : {};

const nulls = (fields: readonly string[]): JsonObject =>
  Object.fromEntries(fields.map((field) => [field, null]));

interface Change {
  readonly record: JsonObject;
  readonly after: JsonObject;
  readonly unseen: readonly string[];
  readonly isStale: boolean;
}

/** Preconditions do not matter without a grant to change the record. */
export function failureOf({ model }: World, caller: Caller, name: Name, change: Change): Failure | undefined {
  const { record, after, unseen, isStale } = change;
  const failure = model.change(caller, name, record, after, unseen);
  if (!isStale) return failure;
  const isPermitted = model.held(caller, name, 'update', record).length > 0;
  return isPermitted ? { status: 412 } : { status: 403, code: 'ACCESS_DENIED' };
}

/** DELETE of a record. */
export const deleting: Surface = async (world, caller) => {
  const { draw, t, model } = world;
  const name = draw.pick(NAMES.filter((each) => each !== 'people'));
  const { id, record } = target(world, caller, name);
  const version = draw.pick([undefined, undefined, record?._version ?? 1, 99]);
  const headers = version === undefined ? {} : { 'if-match': `"${String(version)}"` };
  const shown = `${caller.label} DELETE /${name}/${id} ${String(version)}`;
  const found = await world.send(caller, 'DELETE', `/${name}/${id}`, { headers });
  const refusal = model.refusal(caller, name, 'delete');
  if (refusal) return requireFailure(world, found, refusal, shown);
  if (!record) return requireFailure(world, found, { status: version === undefined ? 204 : 412 }, shown);
  if (model.held(caller, name, 'delete', record).length === 0)
    return requireFailure(world, found, { status: 403, code: 'ACCESS_DENIED' }, shown);
  if (version !== undefined && version !== record._version)
    return requireFailure(world, found, { status: 412 }, shown);
  t.equal(found.status, 204, `${shown}: ${found.text}`);
  await settle(world, model.without(id), shown);
};

/** PATCH and DELETE of all records that match a filter: all or none. */
export const bulk: Surface = async (world, caller) => {
  const { draw, t, model } = world;
  const name = draw.pick(['issues', 'comments', 'memberships'] as const);
  const id = someId(world, name);
  const filter = new URLSearchParams(
    draw.maybe(0.5)
      ? { 'filter[id]': id }
      : { [`filter[${PARENTS[name]!.field}]`]: someId(world, PARENTS[name]!.to) },
  );
  const [field, value] = [...filter].map(([key, given]) => [key.slice(7, -1), given])[0] as [string, string];
  const isPatch = draw.maybe(0.5);
  const body = isPatch
    ? some(name, world.record(name), (each) => each !== 'code' && draw.maybe(0.3))
    : undefined;
  const shown = `${caller.label} ${isPatch ? 'PATCH' : 'DELETE'} /${name}?${String(filter)} ${JSON.stringify(body)}`;
  const found = await world.send(caller, isPatch ? 'PATCH' : 'DELETE', `/${name}?${String(filter)}`, {
    ...(body ? { body, type: 'application/merge-patch+json' } : {}),
  });
  const refusal = model.refusal(caller, name, isPatch ? 'update' : 'delete');
  if (refusal) return requireFailure(world, found, refusal, shown);
  const failure = unreadable(world, caller, name, { [field]: value });
  if (failure) return requireFailure(world, found, failure, shown);
  const ids = model
    .seen(caller, name)
    .filter((record) => record[field] === value)
    .map((record) => String(record.id))
    .sort();
  let now = model;
  for (const each of ids) {
    const record = now.find(name, each);
    const readable = record && now.readable(caller, name, record);
    // Another change of this request has hidden or deleted the record.
    if (!record || readable === 'hidden') {
      if (isPatch) return requireFailure(world, found, { status: 404 }, shown);
      continue;
    }
    const after = { ...some(name, record, () => true), ...body };
    const unseen = Object.keys(body ?? {}).filter((key) => readable !== undefined && !readable.has(key));
    const denied: Failure | undefined = isPatch
      ? now.change(caller, name, record, after, unseen)
      : now.held(caller, name, 'delete', record).length === 0
        ? { status: 403, code: 'ACCESS_DENIED' }
        : undefined;
    if (denied) return requireFailure(world, found, denied, shown);
    now = new Model(now.rules, isPatch ? now.changed(name, each, after) : now.without(each));
  }
  t.equal(found.status, 200, `${shown}: ${found.text}`);
  t.equal(found.json.meta.matched, ids.length, shown);
  await settle(world, now.data, shown);
};

/** PUT with a unique key: a replacement of the record that the caller sees, or a creation. */
export const upserting: Surface = async (world, caller) => {
  const { draw, t, model } = world;
  const name = draw.pick(['teams', 'issues'] as const);
  const { code: _, ...rest } = world.record(name);
  const code = name === 'teams' ? `t${draw.next(14)}` : `i${draw.next(70)}`;
  const path = `/${name}?filter[code]=${code}`;
  const shown = `${caller.label} PUT ${path} ${JSON.stringify(rest)}`;
  const found = await world.send(caller, 'PUT', path, { body: rest });
  const refusal = model.refusal(caller, name, 'update');
  if (refusal) return requireFailure(world, found, refusal, shown);
  const unread = unreadable(world, caller, name, { code });
  if (unread) return requireFailure(world, found, unread, shown);
  const input = { ...rest, code };
  const id = model.seen(caller, name).find((record) => record.code === code)?.id;
  if (id === undefined) {
    const failure = model.creation(caller, name, input, NEW_ID);
    if (failure) return requireFailure(world, found, failure, shown);
    t.equal(found.status, 201, `${shown}: ${found.text}`);
    await settle(world, withNew(model, name, String(found.json.id), input), shown);
    return requireView(world, caller, name, found, shown);
  }
  const record = model.find(name, String(id))!;
  const readable = model.readable(caller, name, record) as ReadonlySet<string> | undefined;
  const sees = (field: string) => readable === undefined || readable.has(field);
  const after = { ...some(name, record, (field) => !sees(field)), ...input };
  const unseen = Object.keys(input).filter((field) => !sees(field));
  const failure = model.change(caller, name, record, after, unseen);
  if (failure) return requireFailure(world, found, failure, shown);
  t.equal(found.status, 200, `${shown}: ${found.text}`);
  await settle(world, model.changed(name, String(id), after), shown);
  requireView(world, caller, name, found, shown);
};

/** PUT with If-None-Match: * and the id of the client. */
export const creatingAs: Surface = async (world, caller) => {
  const { draw, t, model } = world;
  const isNew = draw.maybe(0.5);
  const time = Date.now().toString(16).padStart(12, '0');
  const random = world.token().slice(1).padStart(12, '0');
  const id = isNew ? `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${random}` : someId(world, 'issues');
  const body = world.record('issues');
  const shown = `${caller.label} PUT /issues/${id} as new ${JSON.stringify(body)}`;
  const found = await world.send(caller, 'PUT', `/issues/${id}`, { body, headers: { 'if-none-match': '*' } });
  const refusal = model.refusal(caller, 'issues', 'update');
  if (refusal) return requireFailure(world, found, refusal, shown);
  const record = model.find('issues', id);
  const view = record && model.view(caller, 'issues', record);
  // A record that the caller does not see is compared after the rules of the creation.
  const failure = model.creation(caller, 'issues', body, id);
  if (id.startsWith('01900000')) return requireFailure(world, found, { status: 400 }, shown);
  if (view) {
    requireFailure(world, found, { status: 412 }, shown);
    return void t.same(bare(found.json.error.details.current), view, shown);
  }
  if (failure && failure.status !== 409) return requireFailure(world, found, failure, shown);
  if (record) {
    requireFailure(world, found, { status: 412 }, shown);
    return void t.equal(found.json.error.details, undefined, shown);
  }
  if (failure) return requireFailure(world, found, failure, shown);
  t.equal(found.status, 201, `${shown}: ${found.text}`);
  await settle(world, withNew(model, 'issues', id, body), shown);
  requireView(world, caller, 'issues', found, shown);
};

/** Reads and one write in a batch, whose replay shows no record or field that the caller may no longer read. */
export const batching: Surface = async (world, caller) => {
  const { draw, t } = world;
  if (caller.subject === undefined) return;
  const name = draw.pick(NAMES);
  const filter = someFilter(name, world);
  const id = someId(world, name);
  const operations = [
    { method: 'GET', path: `/${name}?page=1&limit=50` },
    { method: 'GET', path: `/${name}/${id}?fields=${Object.keys(FIELDS[name]).join(',')}` },
    { method: 'QUERY', path: `/${name}`, body: { filter, limit: 50, page: 1 } },
  ].filter(() => draw.maybe(0.7));
  if (operations.length === 0) return;
  const key = world.token();
  const headers = { 'idempotency-key': key };
  const shown = `${caller.label} POST /batch ${JSON.stringify(operations)}`;
  const send = () => world.send(caller, 'POST', '/batch', { body: { operations }, headers });
  const found = await send();
  const alone: ServiceResponse[] = [];
  for (const { method, path, body } of operations)
    alone.push(await world.send(caller, method, path, body ? { body } : {}));
  const failed = alone.find(({ status }) => status >= 400);
  if (failed) return requireFailure(world, found, { status: failed.status }, shown);
  t.equal(found.status, 200, `${shown}: ${found.text}`);
  const bodies = (response: ServiceResponse) =>
    (response.json.results as JsonObject[]).map(({ body }) => body);
  t.same(
    bodies(found),
    alone.map(({ json }) => json),
    shown,
  );
  world.requireNoSecrets(caller, found, shown);
  await disturb(world);
  const again = await send();
  t.equal(again.status, 200, `replayed ${shown}: ${again.text}`);
  world.requireNoSecrets(caller, again, `replayed ${shown}`);
};
