import type { JsonObject } from '../../src/json.js';
import { until } from '../support/until.js';
import { FIELDS, NAMES, type Name } from './drawn-rules.js';
import { type Caller, type Failure, Model } from './model.js';
import { requireFailure, type Surface } from './reads.js';
import type { World } from './world.js';
import { settle, withNew } from './writes.js';

interface Fault {
  readonly line: number;
  readonly pointer: string;
  readonly code: string;
}

/** The outcome of a body with several records: each is created, or refused, as if it came after those before it. */
function outcomeOf(world: World, caller: Caller, name: Name, inputs: readonly JsonObject[]) {
  let { model } = world;
  const failures = inputs.map((input, at) => {
    const failure = model.creation(caller, name, input, 'new');
    const denied = failure?.code === 'FIELDS_DENIED' ? deniedFields(model, caller, name, input) : undefined;
    if (!failure) model = new Model(model.rules, withNew(model, name, `new ${at}`, input));
    return failure && { ...failure, denied };
  });
  return { failures, data: model.data };
}

function deniedFields(model: Model, caller: Caller, name: Name, input: JsonObject): string[] {
  const fields = new Set(
    model.held(caller, name, 'create', { ...input, id: 'new' }).flatMap((grant) => grant.fields ?? []),
  );
  return Object.keys(input)
    .filter((field) => !fields.has(field))
    .map((field) => `/${field}`)
    .toSorted();
}

function requireFaults(
  { t }: World,
  faults: readonly Fault[],
  failures: readonly ((Failure & { denied: string[] | undefined }) | undefined)[],
  shown: string,
): void {
  for (const [at, failure] of failures.entries()) {
    const found = faults.filter(({ line }) => line === at + 1);
    const what = `line ${at + 1} of ${shown}: ${JSON.stringify(faults)}`;
    if (!failure) {
      t.same(found, [], what);
      continue;
    }
    t.ok(found.length > 0, what);
    const code = failure.code ?? /_NOT_FOUND$/;
    for (const fault of found) t.match(fault.code, code, what);
    if (failure.denied) t.same(found.map(({ pointer }) => pointer).toSorted(), failure.denied, what);
  }
}

/** The rules that decide name claims, which a job does not have. */
const hasClaims = ({ rules }: World, name: Name): boolean => {
  const targets = Object.values(FIELDS[name]).flatMap(({ 'x-references': to }) =>
    to === undefined ? [] : [rules[to as Name] ?? []],
  );
  return JSON.stringify([rules[name] ?? [], ...targets]).includes('"$claims.');
};

/** POST of several records in one body, at once or by a job. */
export const creatingMany: Surface = async (world, caller) => {
  const { draw, t, model } = world;
  const name = draw.pick(NAMES);
  const inputs = Array.from({ length: 1 + draw.next(6) }, () => world.record(name));
  const [isLenient, isJob] = [draw.maybe(0.5), draw.maybe(0.3)];
  const prefer = [...(isLenient ? ['handling=lenient'] : []), ...(isJob ? ['respond-async'] : [])];
  const key = draw.maybe(0.3) ? { 'idempotency-key': world.token() } : {};
  const body = inputs.map((each) => JSON.stringify(each)).join('\n');
  const shown = `${caller.label} POST /${name} ${String(prefer)} ${body}`;
  const headers = { ...key, ...(prefer.length > 0 ? { prefer: prefer.join(', ') } : {}) };
  const send = () => world.send(caller, 'POST', `/${name}`, { type: 'application/x-ndjson', body, headers });
  const found = await send();
  const refusal = model.refusal(caller, name, 'create');
  if (refusal) return requireFailure(world, found, refusal, shown);
  const hasJob = isJob && caller.subject !== undefined;
  if (hasJob && hasClaims(world, name))
    return requireFailure(world, found, { status: 400, code: 'BAD_REQUEST' }, shown);
  const { failures, data } = outcomeOf(world, caller, name, inputs);
  const refused = failures.filter((failure) => failure).length;
  const isUndone = refused > 0 && !isLenient;
  const meta = {
    ...{ records: inputs.length, stored: isUndone ? 0 : inputs.length - refused, refused, omitted: 0 },
  };
  const report = hasJob ? await reportOf(world, caller, found.headers.location!, isUndone) : found.json;
  if (!hasJob) t.equal(found.status, isUndone ? 422 : 201, `${shown}: ${found.text}`);
  else t.equal(found.status, 202, `${shown}: ${found.text}`);
  const details = isUndone && !hasJob ? report.error.details : report;
  t.match(details.meta ?? details, meta, shown);
  requireFaults(world, details.faults, failures, shown);
  if (Object.keys(key).length > 0 && caller.subject !== undefined && !isUndone) {
    const again = await send();
    t.equal(again.headers['idempotency-replayed'], 'true', shown);
    t.same(again.text, found.text, shown);
  }
  await settle(world, isUndone ? model.data : data, shown);
};

/** The report of a job that has ended. */
async function reportOf(world: World, caller: Caller, location: string, isFailed: boolean) {
  const look = () => world.send(caller, 'GET', location);
  const { json } = await until('the job has ended', look, (seen) => /done|failed/.test(seen.json.state));
  world.t.equal(json.state, isFailed ? 'failed' : 'done', JSON.stringify(json));
  return isFailed ? json.error.details : json.report;
}
