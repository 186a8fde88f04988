import type { JsonObject } from '../../src/json.js';
import type { ServiceResponse } from '../support/service.js';
import { NAMES } from './drawn-rules.js';
import { called } from './feeds.js';
import type { Failure } from './model.js';
import { bare, type Surface } from './reads.js';
import type { World } from './world.js';
import { failureOf, settle, some, target } from './writes.js';

function requireError({ t }: World, found: ServiceResponse, failure: Failure, shown: string): void {
  const { error } = found.json.result.structuredContent;
  t.equal(error?.status, failure.status, `${shown}: ${found.text}`);
  if (failure.code !== undefined) t.equal(error?.code, failure.code, `${shown}: ${found.text}`);
}

/** A change by a tool for agents, some with the version that the agent knows. */
export const callingToChange: Surface = async (world, caller) => {
  const { draw, t, model } = world;
  if (caller.subject === undefined) return;
  const name = draw.pick(NAMES);
  const { id, record, readable } = target(world, caller, name);
  const sees = (field: string) => readable === undefined || readable.has(field);
  const few = some(name, world.record(name), (field) => draw.maybe(sees(field) ? 0.4 : 0.1));
  const removed = some(name, record ?? {}, (field) => field !== 'status' && sees(field) && draw.maybe(0.1));
  const patch = { ...few, ...Object.fromEntries(Object.keys(removed).map((field) => [field, null])) };
  const version = draw.pick([undefined, undefined, record?._version ?? 1, 99]);
  const args = { id, patch, ...(version === undefined ? {} : { ifMatch: version }) } as JsonObject;
  const shown = `${caller.label} ${name}_update ${JSON.stringify(args)}`;
  const found = await called(world, caller, `${name}_update`, args);
  const refusal = model.refusal(caller, name, 'update');
  if (refusal) return requireError(world, found, refusal, shown);
  if (!record) return requireError(world, found, { status: 404 }, shown);
  const after = Object.fromEntries(
    Object.entries({ ...some(name, record, () => true), ...patch }).filter(([, value]) => value !== null),
  ) as JsonObject;
  const unseen = Object.keys(patch).filter((field) => !sees(field));
  const isStale = version !== undefined && version !== record._version;
  const failure = failureOf(world, caller, name, { record, after, unseen, isStale });
  if (failure) return requireError(world, found, failure, shown);
  const { error, record: written } = found.json.result.structuredContent;
  t.equal(error, undefined, `${shown}: ${found.text}`);
  await settle(world, model.changed(name, id, after), shown);
  const stored = world.model.find(name, id)!;
  const { created_at, updated_at, _version } = stored;
  const view = world.model.view(caller, name, stored) ?? { id, created_at, updated_at, _version };
  t.same(bare(written), view, shown);
};

/** A deletion by a tool for agents. */
export const callingToDelete: Surface = async (world, caller) => {
  const { draw, t, model } = world;
  if (caller.subject === undefined) return;
  const name = draw.pick(NAMES.filter((each) => each !== 'people'));
  const { id, record } = target(world, caller, name);
  const version = draw.pick([undefined, undefined, record?._version ?? 1, 99]);
  const args = { id, ...(version === undefined ? {} : { ifMatch: version }) } as JsonObject;
  const shown = `${caller.label} ${name}_delete ${JSON.stringify(args)}`;
  const found = await called(world, caller, `${name}_delete`, args);
  const refusal = model.refusal(caller, name, 'delete');
  if (refusal) return requireError(world, found, refusal, shown);
  const isStale = version !== undefined && version !== record?._version;
  if (record && model.held(caller, name, 'delete', record).length === 0)
    return requireError(world, found, { status: 403, code: 'ACCESS_DENIED' }, shown);
  if (isStale) return requireError(world, found, { status: 412 }, shown);
  if (!record && version !== undefined) return requireError(world, found, { status: 412 }, shown);
  t.equal(found.json.result.structuredContent.error, undefined, `${shown}: ${found.text}`);
  await settle(world, record ? model.without(id) : model.data, shown);
};
