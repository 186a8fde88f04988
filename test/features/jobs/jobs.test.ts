import { once } from 'node:events';
import http from 'node:http';
import { text } from 'node:stream/consumers';
import { makeKey, makeUser } from '../../support/credentials.js';
import { noteError } from '../../support/provoked-errors.js';
import { freshService, type ServiceResponse, type TestService, testService } from '../../support/service.js';
import t, { type Test } from '../../support/test.js';
import { until } from '../../support/until.js';

const NDJSON = 'application/x-ndjson';
const lines = (count: number, more = '') =>
  Array.from({ length: count }, (_, n) => JSON.stringify({ name: `n${n}`, price: n, text: more })).join('\n');

const submit = (service: TestService, body: string, prefer = 'respond-async', headers: object = {}) =>
  service.send('POST', '/items', { type: NDJSON, body, headers: { prefer, ...headers } });

/** The job when it has ended. */
const ended = (service: TestService, location: string, headers: http.OutgoingHttpHeaders = {}) =>
  until(
    'the job has ended',
    () => service.send('GET', location, { headers }),
    ({ json }: ServiceResponse) => ['done', 'failed', 'cancelled'].includes(json.state),
  );

t.test('a job creates records after the response', async (t) => {
  const service = await testService(t);
  const accepted = await submit(service, lines(3000, 'x'.repeat(200)), 'respond-async, handling=lenient');
  const applied = { 'preference-applied': 'respond-async, handling=lenient' };
  t.match(accepted, { status: 202, headers: applied, text: '' });
  const location = accepted.headers.location!;
  const { json } = await ended(service, location);
  t.equal(location, `/jobs/${json.id}`);
  t.match(json, {
    state: 'done',
    collection: 'items',
    progress: { stored: 3000, refused: 0, bytes: json.progress.total_bytes },
    report: { meta: { records: 3000, stored: 3000 }, faults: [] },
  });
  t.ok(json.expires_at > json.ended_at);
  t.equal((await service.send('GET', '/items')).json.meta.total, 3000);
  t.match((await service.send('GET', '/jobs')).json.data, [{ id: json.id }]);
  t.match((await service.send('GET', '/')).json.links, { jobs: '/jobs' });
  const second = (await service.send('GET', `/api/v2${location}`)).json;
  t.equal(second._links.self.href, `/api/v2${location}`);
  t.equal((await service.send('DELETE', location)).status, 204);
  t.match(await service.send('GET', location), { status: 404, json: { error: 'No such job.' } });
  t.equal((await service.send('GET', '/jobs/x')).status, 404);
});

t.test(
  'a job of another version, or of no collection, fails with the reason, and others are done',
  async (t) => {
    const service = await freshService(t, {}, { jobPollMs: 50 });
    const permitted = { subject: 'x', scopes: ['admin'], scheme: 'none', permission: 'all', version: '1' };
    const own = { collection: 'items', query: '', ...permitted };
    const stored = [
      { kind: 'export', type: NDJSON, method: 'GET', body: null, ...own },
      { kind: 'change', type: '', method: 'DELETE', headers: {}, prefix: '', ...own },
      { kind: 'of a later version', collection: 'items' },
      { kind: 'creation', type: NDJSON, isLenient: true, ...permitted, collection: 'lost' },
    ];
    const insert = `insert into plinth_jobs (id, caller, task, state, progress) values (gen_random_uuid(), 'x', $1, 'queued', $2) returning id`;
    const progress = JSON.stringify({ stored: 1, refused: 0, omitted: 0, faults: [], after: 'x' });
    const ids: string[] = [];
    for (const task of stored) {
      const after = task.kind === 'change' ? progress : null;
      const [row] = await service.db.run(insert, [JSON.stringify(task), after]);
      ids.push(String(row!.id));
    }
    const { location } = (await submit(service, lines(3))).headers;
    t.equal((await ended(service, location!)).json.state, 'done');
    for (const [at, { kind, collection }] of stored.entries()) {
      const unknown = { status: 410, code: 'UNKNOWN_JOB', message: new RegExp(kind), details: { kind } };
      const error = collection === 'lost' ? { status: 404 } : unknown;
      const { json } = await ended(service, `/jobs/${ids[at]}`);
      t.match(json, { kind, state: 'failed', collection, error }, kind);
    }
    t.match((await service.send('GET', '/jobs')).json.data.length, 5);
    t.equal((await service.send('GET', '/items')).json.meta.total, 3);
  },
);

t.test('a job reports what it has refused', async (t) => {
  const service = await testService(t);
  const body = `{"name":"good"}\n{"name":""}\n{"name":"x","price":"y"}`;
  const strict = await ended(service, (await submit(service, body)).headers.location!);
  const faults = [{ line: 2 }, { line: 3, pointer: '/price' }];
  const details = { records: 3, stored: 0, refused: 2, faults };
  const error = { status: 422, code: 'RECORDS_REFUSED', details };
  t.match(strict.json, { state: 'failed', progress: { stored: 0 }, error });
  t.equal((await service.send('GET', '/items')).json.meta.total, 0);
  const lenient = await submit(service, body, 'handling=lenient, respond-async');
  t.match((await ended(service, lenient.headers.location!)).json, {
    state: 'done',
    report: { meta: { records: 3, stored: 1, refused: 2, omitted: 0 }, faults: [{ line: 2 }, { line: 3 }] },
  });
  const twice = { type: 'text/csv', body: 'name,name\n', headers: { prefer: 'respond-async' } };
  const csv = await service.send('POST', '/items', twice);
  t.match((await ended(service, csv.headers.location!)).json, { state: 'failed', error: { status: 400 } });
});

t.test('an Idempotency-Key has one job', async (t) => {
  const service = await testService(t);
  const post = (body: string) => submit(service, body, 'respond-async', { 'idempotency-key': 'j' });
  const first = await post(lines(5));
  const again = await post(lines(5));
  const { location } = first.headers;
  t.match(again, { status: 202, headers: { 'idempotency-replayed': 'true', location } });
  t.match(await post(lines(6)), { status: 422 });
  await ended(service, first.headers.location!);
  t.equal((await service.send('GET', '/jobs')).json.data.length, 1);
  t.equal((await service.send('GET', '/items')).json.meta.total, 5);
});

t.test('only its principal and admins see a job, and its permission is that of its request', async (t) => {
  const service = await testService(t, { AUTH: 'api-key' });
  const { key: admin } = await makeKey(service.db);
  const as = (key: string) => ({ 'x-api-key': key });
  const user = async (name: string) => (await makeUser(service, `${name}@x.org`, { name })).id;
  const [ada, bob] = [await user('ada'), await user('bob')];
  const { key } = await makeKey(service.db, { subject: ada, scopes: ['self'] });
  const { key: other } = await makeKey(service.db, { subject: bob, scopes: ['self', 'items:write'] });
  const accepted = await service.send('POST', '/posts', {
    type: NDJSON,
    body: `{"userId":"${ada}"}\n{"userId":"${bob}"}`,
    headers: { ...as(key), prefer: 'respond-async, handling=lenient' },
  });
  t.equal(accepted.status, 202);
  const location = accepted.headers.location!;
  const { json } = await ended(service, location, as(key));
  t.match(json, {
    report: { meta: { stored: 1, refused: 1 }, faults: [{ line: 2, code: 'USER_NOT_FOUND' }] },
  });
  for (const method of ['GET', 'DELETE'])
    t.equal((await service.send(method, location, { headers: as(other) })).status, 404);
  t.equal((await service.send('GET', location)).status, 401);
  t.equal((await service.send('GET', location, { headers: as(admin) })).status, 200);
  const listed = async (of: string) =>
    (await service.send('GET', '/jobs', { headers: as(of) })).json.data.length;
  t.same(await Promise.all([key, other, admin].map(listed)), [1, 0, 1]);
});

/** A request whose body the test does not end. */
async function begun(t: Test, service: TestService): Promise<http.ClientRequest> {
  const headers = { 'content-type': NDJSON, prefer: 'respond-async', expect: '100-continue' };
  const request = http.request(`${service.url}/items`, { method: 'POST', headers });
  request.on('error', () => undefined);
  t.teardown(() => request.destroy());
  request.flushHeaders();
  await once(request, 'continue');
  return request;
}

t.test('jobs are bounded, and one whose client breaks off is gone', async (t) => {
  const service = await freshService(t, {}, { jobsPerCaller: 2, jobsMax: 10, jobBytes: 2048 });
  const states = async (): Promise<string[]> =>
    (await service.send('GET', '/jobs')).json.data.map(({ state }: { state: string }) => state);
  const one = await begun(t, service);
  await begun(t, service);
  t.same(await states(), ['receiving', 'receiving']);
  t.match(await submit(service, lines(1)), {
    status: 429,
    headers: { 'retry-after': '10' },
    json: { error: { code: 'TOO_MANY_JOBS', details: { limit: 2 } } },
  });
  one.write('{"name":');
  one.destroy();
  await until('the job is gone', states, (found) => found.length === 1);
  t.match(await submit(service, lines(100)), { status: 413 });
  const full = await freshService(t, {}, { jobsMax: 1 });
  await begun(t, full);
  t.match(await submit(full, lines(1)), { status: 503 });
});

t.test('a job can be cancelled while its body arrives', async (t) => {
  const service = await testService(t);
  const request = await begun(t, service);
  request.write('{"name":"early"}\n{"name":');
  const [{ id, state }] = (await service.send('GET', '/jobs')).json.data;
  t.equal(state, 'receiving');
  t.equal((await service.send('DELETE', `/jobs/${id}`)).status, 204);
  const responded = once(request, 'response') as Promise<[http.IncomingMessage]>;
  request.end('"late"}');
  const [response] = await responded;
  const body = await text(response);
  noteError(response.statusCode!, body);
  t.equal(response.statusCode, 409);
  t.match(JSON.parse(body), { error: { code: 'JOB_CANCELLED' } });
  t.equal((await service.send('GET', `/jobs/${id}`)).status, 404, 'a job without its body is removed');
  t.equal((await service.send('GET', '/items')).json.meta.total, 0);
});

t.test('a cancelled job stops, and stores no more', async (t) => {
  const service = await freshService(t);
  const accepted = await submit(service, lines(20_000, 'x'.repeat(500)), 'respond-async, handling=lenient');
  const location = accepted.headers.location!;
  await until(
    'some records are stored',
    () => service.send('GET', location),
    ({ json }: ServiceResponse) => json.progress.stored > 0,
  );
  t.equal((await service.send('DELETE', location)).status, 204);
  const { json } = await service.send('GET', location);
  t.equal(json.state, 'cancelled');
  const next = await submit(service, lines(1));
  await ended(service, next.headers.location!);
  const { total } = (await service.send('GET', '/items')).json.meta;
  t.equal(total, json.progress.stored + 1, 'what the job says and the next one');
  t.ok(total < 20_000, `${total} records`);
});
