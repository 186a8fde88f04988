import { isDeepStrictEqual } from 'node:util';
import type { Json, JsonObject } from '../../src/json.js';
import { whenEventsAreFinal } from '../support/final-events.js';
import { FIELDS, NAMES, type Name } from './drawn-rules.js';
import type { Caller } from './model.js';
import { requireFailure, type Surface, someId } from './reads.js';
import type { World } from './world.js';

/** The values of a field that a change has, as far as the caller may read them. */
interface Shown {
  readonly name: string;
  readonly before?: Json;
  readonly after?: Json;
}

/** The history of a record after changes by the operator. */
export const remembering: Surface = async (world, caller) => {
  const { draw, t, admin } = world;
  const name = draw.pick(NAMES);
  const id = someId(world, name);
  const states = [world.model.find(name, id)];
  for (let n = 1 + draw.next(3); n > 0 && states[0]; n--) {
    const { status, json } = await world.send(admin, 'PATCH', `/${name}/${id}`, {
      body: world.record(name),
      type: 'application/merge-patch+json',
    });
    if (status === 200) states.unshift(json);
  }
  const current = states[0] && (await world.refresh())[name]!.find((record) => record.id === id);
  const changes = states.length - 1;
  if (current && changes === 0) return;
  await whenEventsAreFinal(world.service);
  const path = `/${name}/${id}/history?limit=${Math.max(changes, 1)}`;
  const shown = `${caller.label} GET ${path} of ${JSON.stringify(states)}`;
  const expected = states.slice(0, -1).flatMap((after, at) => {
    const fields = shownChanges(world, caller, name, states[at + 1]!, after!);
    return fields ? [{ version: after!._version, fields }] : [];
  });
  const found = await world.send(caller, 'GET', path, {}, JSON.stringify(expected));
  const refusal = world.model.refusal(caller, name, 'read');
  if (refusal) return requireFailure(world, found, refusal, shown);
  if (!current || !world.model.view(caller, name, current))
    return requireFailure(world, found, { status: 404 }, shown);
  t.equal(found.status, 200, `${shown}: ${found.text}`);
  t.same(
    found.json.data.map(({ version, changes: fields }: JsonObject) => ({
      version,
      fields: sorted(fields as unknown as Shown[]),
    })),
    expected,
    shown,
  );
  const actor = caller.subject === undefined ? null : 'operator';
  for (const change of found.json.data) t.equal(change.actor, actor, shown);
};

/** The fields of a change; undefined: the caller may read neither state of the record. */
function shownChanges(
  { model }: World,
  caller: Caller,
  name: Name,
  before: JsonObject,
  after: JsonObject,
): Shown[] | undefined {
  const [former, later] = [model.view(caller, name, before), model.view(caller, name, after)];
  if (!former && !later) return undefined;
  const [earlier, present] = [model.readable(caller, name, before), model.readable(caller, name, after)];
  const isIn = (fields: typeof earlier, field: string) =>
    fields !== 'hidden' && (fields === undefined || fields.has(field));
  const changed = Object.keys(FIELDS[name]).filter(
    (field) => !isDeepStrictEqual(before[field], after[field]),
  );
  return sorted(
    changed
      .filter((field) => isIn(earlier, field) || isIn(present, field))
      .map((field) => ({
        name: field,
        ...(former?.[field] !== undefined && { before: former[field] }),
        ...(later?.[field] !== undefined && { after: later[field] }),
      })),
  );
}

const sorted = (fields: readonly Shown[]): Shown[] => fields.toSorted((a, b) => (a.name < b.name ? -1 : 1));
