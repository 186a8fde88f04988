import type { JsonObject } from '../../src/json.js';
import { rpc } from '../support/callers.js';
import { whenEventsAreFinal } from '../support/final-events.js';
import type { ServiceResponse } from '../support/service.js';
import { NAMES, type Name } from './drawn-rules.js';
import type { Caller } from './model.js';
import { bare, requireFailure, type Surface, someId } from './reads.js';
import type { World } from './world.js';
import { settle, withNew } from './writes.js';

/** The collections with rules. */
const ruled = ({ rules }: World): Name[] => NAMES.filter((name) => rules[name] !== undefined);

/** The events of changes by the operator, as pages and as a live query. */
export const feeding: Surface = async (world, caller) => {
  const { draw, t, admin } = world;
  if (ruled(world).length === 0) return;
  const name = draw.pick(ruled(world));
  const id = someId(world, name);
  const before = world.model.find(name, id);
  if (!before) return;
  // An event of an earlier step that is not final yet would come after the cursor.
  await whenEventsAreFinal(world.service);
  const { json } = await world.send(admin, 'GET', '/events?after=now');
  const changed = await world.send(admin, 'PATCH', `/${name}/${id}`, {
    body: world.record(name),
    type: 'application/merge-patch+json',
  });
  await world.refresh();
  await whenEventsAreFinal(world.service);
  const path = `/events?types=${name}.*&after=${json.meta.cursor}`;
  const shown = `${caller.label} GET ${path} of ${JSON.stringify(before)}`;
  const found = await world.send(caller, 'GET', path);
  const live = await world.send(caller, 'GET', `${path}&filter[id]=${id}`);
  if (caller.subject === undefined) return requireFailure(world, found, { status: 401 }, shown);
  if (!caller.scopes.some((scope) => ['self', 'admin'].includes(scope)))
    return requireFailure(world, found, { status: 403, code: 'INSUFFICIENT_SCOPE' }, shown);
  // Without a grant for the caller there is nothing to follow.
  if (!world.model.might(caller, name, 'read'))
    return requireFailure(world, found, { status: 403, code: 'INSUFFICIENT_SCOPE' }, shown);
  t.equal(found.status, 200, `${shown}: ${found.text}`);
  t.equal(live.status, 200, `${shown}: ${live.text}`);
  const after = world.model.find(name, id)!;
  const view = world.model.view(caller, name, after);
  const isVisible = view !== undefined || world.model.view(caller, name, before) !== undefined;
  const expected = changed.status === 200 && isVisible ? [view] : [];
  const dataOf = ({ json: page }: ServiceResponse) => page.data.map(({ data }: JsonObject) => data);
  t.same(dataOf(found), expected, shown);
  t.same(dataOf(live), expected, `${shown} as a live query`);
};

/** A creation by a tool for agents. */
export const callingToCreate: Surface = async (world, caller) => {
  const { draw, t, model } = world;
  if (caller.subject === undefined) return;
  const name = draw.pick(NAMES);
  const record = world.record(name);
  const shown = `${caller.label} ${name}_create ${JSON.stringify(record)}`;
  const found = await called(world, caller, `${name}_create`, { record });
  const failure = model.refusal(caller, name, 'create') ?? model.creation(caller, name, record, 'new');
  const { error, record: made } = found.json.result.structuredContent;
  if (failure) {
    t.equal(error?.status, failure.status, `${shown}: ${found.text}`);
    if (failure.code !== undefined) t.equal(error?.code, failure.code, `${shown}: ${found.text}`);
    return;
  }
  t.equal(error, undefined, `${shown}: ${found.text}`);
  await settle(world, withNew(model, name, String(made.id), record), shown);
  const stored = world.model.find(name, String(made.id))!;
  const { id, created_at, updated_at, _version } = stored;
  const view = world.model.view(caller, name, stored) ?? { id, created_at, updated_at, _version };
  t.same(bare(made), view, shown);
};

export const called = (
  world: World,
  caller: Caller,
  name: string,
  args: JsonObject,
): Promise<ServiceResponse> =>
  world.send(caller, 'POST', '/mcp', {
    body: rpc('tools/call', { name, arguments: args }),
  });
