import type { JsonObject } from '../../src/json.js';
import { until } from '../support/until.js';
import { FIELDS, type Name, PARENTS } from './drawn-rules.js';
import { type Caller, type Failure, Model } from './model.js';
import { requireFailure, type Surface, someId } from './reads.js';
import type { World } from './world.js';
import { settle, some } from './writes.js';

/** The rules that decide name claims, which a job does not have. */
function hasClaims({ rules }: World, name: Name, body: JsonObject | undefined): boolean {
  const targets = Object.keys(body ?? {}).flatMap((field) => {
    const to = FIELDS[name][field]!['x-references'];
    return to === undefined ? [] : [rules[to as Name] ?? []];
  });
  return JSON.stringify([rules[name] ?? [], ...targets]).includes('"$claims.');
}

/** Each record that the caller sees is changed, or remains for a reason, as if it came after those before it. */
function outcomeOf(
  world: World,
  caller: Caller,
  name: Name,
  ids: readonly string[],
  body: JsonObject | undefined,
) {
  let { model } = world;
  const failures = new Map<string, Failure>();
  for (const id of ids) {
    const record = model.find(name, id);
    const readable = record && model.readable(caller, name, record);
    // Another change of this job has hidden or deleted the record.
    if (!record || readable === 'hidden') {
      if (body) failures.set(id, { status: 404, code: 'NOT_FOUND' });
      continue;
    }
    const after = { ...some(name, record, () => true), ...body };
    const unseen = Object.keys(body ?? {}).filter((key) => readable !== undefined && !readable.has(key));
    const failure = body
      ? model.change(caller, name, record, after, unseen)
      : model.held(caller, name, 'delete', record).length === 0
        ? { status: 403, code: 'ACCESS_DENIED' }
        : undefined;
    if (failure) failures.set(id, failure);
    else model = new Model(model.rules, body ? model.changed(name, id, after) : model.without(id));
  }
  return { failures, data: model.data };
}

/** PATCH and DELETE of all records that match a filter by a job: each is changed or refused. */
export const changingByJob: Surface = async (world, caller) => {
  const { draw, t, model } = world;
  // A caller without a credential has no jobs.
  if (caller.subject === undefined) return;
  const name = draw.pick(['issues', 'comments', 'memberships'] as const);
  const [field, value] = draw.maybe(0.2)
    ? ['id', someId(world, name)]
    : [PARENTS[name]!.field, someId(world, PARENTS[name]!.to)];
  const isPatch = draw.maybe(0.7);
  const body = isPatch
    ? some(name, world.record(name), (each) => each !== 'code' && draw.maybe(0.3))
    : undefined;
  const method = isPatch ? 'PATCH' : 'DELETE';
  const path = `/${name}?filter[${field}]=${value}`;
  const shown = `${caller.label} ${method} ${path} as a job ${JSON.stringify(body)}`;
  const found = await world.send(caller, method, path, {
    headers: { prefer: 'respond-async' },
    ...(body ? { body, type: 'application/merge-patch+json' } : {}),
  });
  const refusal = model.refusal(caller, name, isPatch ? 'update' : 'delete');
  if (refusal) return requireFailure(world, found, refusal, shown);
  if (hasClaims(world, name, body))
    return requireFailure(world, found, { status: 400, code: 'BAD_REQUEST' }, shown);
  t.equal(found.status, 202, `${shown}: ${found.text}`);
  const { json } = await until(
    'the job has ended',
    () => world.send(caller, 'GET', found.headers.location!),
    (seen) => ['done', 'failed'].includes(seen.json.state),
  );
  const ids = model
    .seen(caller, name)
    .filter((record) => record[field] === value)
    .map((record) => String(record.id))
    .sort();
  const { failures, data } = outcomeOf(world, caller, name, ids, body);
  const meta = { matched: ids.length, changed: ids.length - failures.size, refused: failures.size };
  t.match(json, { state: 'done', report: { meta } }, `${shown}: ${JSON.stringify(json)}`);
  const faults = (json.report?.faults ?? []) as { id: string; code: string }[];
  t.same(new Set(faults.map(({ id }) => id)), new Set(failures.keys()), shown);
  for (const { id, code } of faults)
    t.match(code, failures.get(id)?.code ?? /_NOT_FOUND$/, `${shown}: ${JSON.stringify(json)}`);
  await settle(world, data, shown);
};
