import { randomUUID } from 'node:crypto';
import { callerKey } from '../../../src/auth/principal.js';
import { addInput, openJob, queueJob } from '../../../src/features/jobs/job-store.js';
import type { Task } from '../../../src/features/jobs/job-task.js';
import type { JsonObject } from '../../../src/json.js';
import { openTracker } from '../../access/open-tracker.js';
import { makeKey } from '../../support/credentials.js';
import type { ServiceResponse } from '../../support/service.js';
import { sqlOf } from '../../support/sql.js';
import t, { type Test } from '../../support/test.js';
import { until, untilAtLeast } from '../../support/until.js';

const NDJSON = 'application/x-ndjson';

const text = { type: 'string', maxLength: 200, 'x-index': true };
const under = (properties: JsonObject, ...access: JsonObject[]): JsonObject => ({
  ...{ type: 'object', properties },
  ...(access.length > 0 && { 'x-collection': { access } }),
});
const cascading = (to: string) => ({ type: 'string', 'x-references': to, 'x-on-delete': 'cascade' });
/** Collections without access rules, and one whose rules name a claim. */
const MORE = {
  'tags.json': under({ name: text }),
  'notes.json': under({ text, issueId: cascading('issues') }),
  'seats.json': under(
    { label: text, price: text },
    { can: 'read', fields: ['label'] },
    { can: 'all', scope: 'admin' },
  ),
  'deals.json': under({ tenant: text }, { can: 'all', where: { tenant: '$claims.tenant' } }),
  'diaries.json': under(
    { text: { ...text, maxLength: 9 }, owner: text },
    { can: 'all', where: { owner: '$caller' } },
  ),
  'offers.json': under({ text, dealId: cascading('deals') }),
};

/** A team with an owner and a member, an issue of it, and one of another team. */
async function withIssues(t: Test) {
  const tracker = await openTracker(t, MORE, { jobPollMs: 50 });
  const { made, user, service } = tracker;
  const [ann, bob, eve] = [await user('ann'), await user('bob'), await user('eve')];
  const team = await made('/teams', { name: 'One', ownerId: ann.id });
  const other = await made('/teams', { name: 'Two', ownerId: eve.id });
  await made('/memberships', { teamId: team, userId: ann.id, role: 'owner' });
  const membership = await made('/memberships', { teamId: team, userId: bob.id, role: 'member' });
  await made('/memberships', { teamId: other, userId: eve.id, role: 'owner' });
  const project = await made('/projects', { title: 'Roof', teamId: team });
  const foreign = await made('/projects', { title: 'Vault', teamId: other });
  await made('/issues', { title: 'Leak', projectId: project, secret: 'x1' });
  await made('/issues', { title: 'Robbery', projectId: foreign, secret: 'x2' });
  /** The job when it has ended. */
  const ended = (by: typeof tracker.operator, location: string) =>
    until(
      'the job has ended',
      () => by('GET', location),
      ({ json }: ServiceResponse) => ['done', 'failed'].includes(json.state),
    );
  /** A job of a subject with the scope `self`, as a request before has left it. */
  const leave = async (subject: string, task: object, input?: string): Promise<string> => {
    const id = randomUUID();
    const permitted = { subject, scopes: ['self'], scheme: 'api-key', permission: 'rules' };
    const whole = { collection: 'issues', ...permitted, ...task } as unknown as Task;
    const limits = { db: service.db, jobsMax: 50, jobsPerCaller: 5 };
    await openJob(limits, id, callerKey({ scheme: 'api-key', subject }), whole);
    if (input !== undefined) t.ok(await addInput(service.db.run, id, 0, Buffer.from(input)));
    t.ok(await queueJob(service.db.run, id));
    return `/jobs/${id}`;
  };
  return { ...tracker, ann, bob, eve, membership, project, ended, leave };
}

t.test('an operator sees the state of a job, and no values of records that it may not read', async (t) => {
  const { operator, bob, eve, ended } = await withIssues(t);
  const body = JSON.stringify({ text: 'a long secret', owner: bob.id });
  for (const [prefer, state] of [
    ['respond-async', 'failed'],
    ['respond-async, handling=lenient', 'done'],
  ] as const) {
    const accepted = await bob.call('POST', '/diaries', body, { 'content-type': NDJSON, prefer });
    t.equal(accepted.status, 202, accepted.text);
    const location = accepted.headers.location!;
    const { json, text: whole } = await ended(bob.call, location);
    t.equal(json.state, state);
    t.match(whole, /"value":".*secret/, 'its principal sees what it sent');
    for (const found of [await operator('GET', location), await operator('GET', '/jobs')]) {
      t.match(found, { status: 200, text: /"pointer":"\/text"/ });
      t.notMatch(found.text, /secret|"value"/, prefer);
    }
    t.equal((await eve.call('GET', location)).status, 404);
  }
});

t.test('a job ends with the user whose it is', async (t) => {
  const { service, operator, as, made, user, bob, eve, ended, leave } = await withIssues(t);
  await made('/seats', { label: 'A1' });
  const { key } = await makeKey(service.db, { subject: eve.id, scopes: ['tags:write'] });
  const lines = '{"name":"a"}\n{"name":"b"}';
  const creation = { kind: 'creation', type: NDJSON, collection: 'tags', scopes: ['tags:write', 'self'] };
  const tasks: readonly (readonly [task: object, input: string])[] = [
    [{ ...creation, isLenient: true }, lines],
    [{ ...creation, isLenient: false }, lines],
  ];
  for (const { id } of [bob, eve]) {
    if (id === bob.id) t.equal((await operator('DELETE', `/users/${id}`)).status, 204);
    for (const [task, input] of tasks) {
      const { json } = await ended(operator, await leave(id, { ...task, userCollection: 'users' }, input));
      if (id === eve.id) t.equal(json.state, 'done', JSON.stringify(json));
      else t.match(json, { state: 'failed', error: { status: 403, code: 'ACCESS_DENIED' } });
    }
    t.equal((await operator('GET', '/tags?page=1')).json.meta.total, id === bob.id ? 0 : 4);
  }
  const zoe = await user('zoe');
  await service.db.run('insert into plinth_disabled_users (user_id) values ($1::uuid)', [zoe.id]);
  for (const [task, input] of tasks) {
    const { json } = await ended(operator, await leave(zoe.id, { ...task, userCollection: 'users' }, input));
    const message = 'The user whose job this is was disabled.';
    t.match(json, { state: 'failed', error: { status: 403, code: 'ACCESS_DENIED', message } });
  }
  t.equal((await operator('GET', '/tags?page=1')).json.meta.total, 4);
  // Such a key is that of a program.
  const async = { 'content-type': NDJSON, Prefer: 'respond-async' };
  const accepted = await as(key)('POST', '/tags', '{"name":"c"}', async);
  t.equal((await operator('DELETE', `/users/${eve.id}`)).status, 409, 'a team is hers');
  t.match((await ended(operator, accepted.headers.location!)).json, { state: 'done' });
});

t.test('a job creates records by the access rules as of each of its transactions', async (t) => {
  const { service, operator, made, bob, membership, project, ended, leave } = await withIssues(t);
  const { teamId } = (await operator('GET', `/projects/${project}`)).json;
  const locked = await made('/projects', { title: 'Cellar', teamId });
  const text = 'x'.repeat(50_000);
  const body = Array.from({ length: 24 }, (_, at) =>
    JSON.stringify({ title: `Many ${at}`, text, projectId: at < 4 ? project : locked }),
  ).join('\n');
  const sql = sqlOf(t, service.databaseUrl);
  await sql.unsafe('begin');
  // The second transaction has decided about its records when it waits for this project.
  await sql.unsafe(`select from projects where id = '${locked}' for update`);
  const submitted = await service.send('POST', '/issues', {
    type: NDJSON,
    body,
    headers: { 'X-API-Key': bob.key, Prefer: 'respond-async, handling=lenient' },
  });
  t.equal(submitted.status, 202, submitted.text);
  const location = submitted.headers.location!;
  const waits =
    "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  await untilAtLeast('the job waits', () => service.db.run(waits, []), 1);
  t.equal((await operator('PATCH', `/memberships/${membership}`, { role: 'guest' })).status, 200);
  await sql.unsafe('commit');
  const { json } = await ended(bob.call, location);
  const { meta, faults } = json.report;
  t.equal(meta.records, 24);
  t.ok(meta.stored >= 4 && meta.refused > 0, JSON.stringify(meta));
  const codes = new Set((faults as { code: string }[]).map(({ code }) => code));
  t.same([...codes], ['ACCESS_DENIED']);
  t.match(await operator('GET', '/issues'), { json: { meta: { total: 2 + meta.stored } } });

  const line = JSON.stringify({ title: 'Late', projectId: project });
  const late = await leave(bob.id, { kind: 'creation', type: NDJSON, isLenient: true }, line);
  t.match((await ended(bob.call, late)).json, {
    state: 'done',
    report: { meta: { stored: 0, refused: 1 }, faults: [{ line: 1, code: 'ACCESS_DENIED' }] },
  });
  const claiming = { kind: 'creation', collection: 'deals', type: NDJSON, isLenient: true };
  t.match((await ended(bob.call, await leave(bob.id, claiming, '{}'))).json, {
    state: 'failed',
    error: { status: 400, code: 'BAD_REQUEST' },
  });
});
