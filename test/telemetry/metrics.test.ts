import net from 'node:net';
import { hashOf, newKey } from '../../src/auth/credentials/api-key-format.js';
import type { Config } from '../../src/config/config.js';
import { exposition } from '../../src/telemetry/exposition.js';
import { single } from '../../src/telemetry/instruments.js';
import { createMetrics } from '../../src/telemetry/metrics.js';
import { follow } from '../events/follow.js';
import { LOOPBACK, makeWebhook, testTarget } from '../features/webhooks/target.js';
import { freshService } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { until, untilAtLeast } from '../support/until.js';
import { scrape } from './scraped.js';

const COUNT = 'http_server_request_duration_seconds_count';
const user = (n: number) => ({ email: `u${n}@example.org`, name: 'U' });

t.test('requests are counted by route template, method and status, with their bytes', async (t) => {
  const { send, url } = await freshService(t);
  const created = await send('POST', '/users', { body: user(1) });
  const sentBytes = Buffer.byteLength(JSON.stringify(user(1)));
  const { id } = created.json;
  const first = await send('GET', `/users/${id}`);
  await send('GET', `/api/v1/users/${id}`);
  await send('HEAD', `/users/${id}`);
  await send('GET', '/users/none');
  await send('GET', `/nowhere/${id}?secret=1`);
  await send('PUT', '/users', { body: {} });
  await send('OPTIONS', '*');
  await send('PROPFIND', '/users');
  await send('GET', '/users');
  await send('GET', '/users?page=1');
  const { value, text, samples } = await scrape(url);
  const count = (method: string, route: string, status: string) => value(COUNT, { method, route, status });
  t.equal(count('POST', '/users', '201'), 1);
  t.equal(count('GET', '/users/:id', '200'), 2);
  t.equal(count('HEAD', '/users/:id', '200'), 1);
  t.equal(count('GET', '/users/:id', '404'), 1);
  t.equal(count('GET', 'unmatched', '404'), 1);
  t.equal(count('PUT', '/users', '405'), 1);
  t.equal(count('OPTIONS', 'unmatched', '204'), 1);
  t.equal(count('_OTHER', 'unmatched', '501'), 1);
  t.equal(count('GET', '/users', '200'), 2);
  t.notOk(text.includes(id), 'never a raw path');
  t.notOk(text.includes('nowhere'));
  const ofUser = { method: 'POST', route: '/users' };
  t.equal(value('http_server_request_body_bytes_total', ofUser), sentBytes);
  t.equal(value('http_server_response_body_bytes_total', ofUser), Buffer.byteLength(created.text));
  const reads = { method: 'GET', route: '/users/:id' };
  const absent = Buffer.byteLength((await send('GET', '/users/none')).text);
  t.equal(value('http_server_response_body_bytes_total', reads), 2 * Buffer.byteLength(first.text) + absent);
  t.equal(value('http_server_response_body_bytes_total', { method: 'HEAD' }), 0);
  const seconds = value('http_server_request_duration_seconds_sum', { ...reads, status: '200' })!;
  t.ok(seconds > 0 && seconds < 60, 'in seconds');
  t.equal(value('http_server_active_requests'), 1, 'the scrape itself');
  const buckets = samples.filter(
    ({ name, labels: { route, status, method } }) =>
      name === 'http_server_request_duration_seconds_bucket' &&
      `${method} ${route} ${status}` === 'GET /users/:id 200',
  );
  const add = buckets.every(({ value }, at) => at === 0 || value >= buckets[at - 1]!.value);
  t.ok(add, 'buckets add up');
  t.equal(buckets.at(-1)?.labels.le, '+Inf');
});

t.test('a streamed array is counted by what was written', async (t) => {
  const { send, url } = await freshService(t);
  const empty = await send('GET', '/users');
  t.equal(empty.text, '[]');
  const ofList = { method: 'GET', route: '/users' };
  t.equal((await scrape(url)).value('http_server_response_body_bytes_total', ofList), 2);
  for (let n = 0; n < 100; n++)
    await send('POST', '/users', { body: { ...user(n), note: 'x'.repeat(1000) } });
  const { text } = await send('GET', '/users');
  const { value } = await scrape(url);
  t.equal(value('http_server_response_body_bytes_total', ofList), 2 + Buffer.byteLength(text));
  t.equal(value('plinth_db_statement_duration_seconds_count', { pool: 'stream' }), 2);
});

t.test('the database: statements by pool, and how many records share one', async (t) => {
  const { send, url } = await freshService(t);
  const ids = await Promise.all([1, 2, 3, 4].map((n) => send('POST', '/users', { body: user(n) })));
  await Promise.all(ids.map(({ json }) => send('GET', `/users/${json.id}`)));
  await send('GET', '/items?page=1&search=lamp');
  await send('POST', '/batch', { body: { operations: [{ method: 'POST', path: '/users', body: user(9) }] } });
  const { value } = await scrape(url);
  const users = (operation: string) => ({ collection: 'users', operation });
  t.equal(value('plinth_db_batch_size_sum', users('create')), 4);
  t.equal(value('plinth_db_batch_size_sum', users('read')), 4);
  t.ok(value('plinth_db_batch_size_count', users('read'))! <= 4);
  t.equal(value('plinth_db_queued_records', users('read')), 0);
  t.ok(value('plinth_db_statement_duration_seconds_count', { pool: 'short' })! >= 2);
  t.equal(value('plinth_db_statement_duration_seconds_count', { pool: 'search' }), 1);
  // Also what the service does in the background.
  t.ok(value('plinth_db_statement_duration_seconds_count', { pool: 'transaction' })! >= 1);
  await until('nothing is in flight, and nothing waits', async () => {
    const { value } = await scrape(url);
    const active = value('plinth_db_active_statements', { pool: 'short' });
    return active === 0 && value('plinth_db_waiting_statements', { pool: 'transaction' }) === 0;
  });
  t.equal(value('plinth_db_connections_limit', { pool: 'stream' }), 4);
  t.equal(value('plinth_db_queue_limit'), 2000);
  t.equal(value('plinth_db_failures_total', { pool: 'short' }), 0);
  t.ok(value('nodejs_heap_size_used_bytes')! > 1e6, 'and the process');
  t.ok(value('process_resident_memory_bytes')! > 1e6);
});

t.test('a wait for a connection that is checked out, and a statement that fails', async (t) => {
  const { url, db } = await freshService(t, { DB_CONNECTIONS: '1' });
  let free: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    free = resolve;
  });
  const first = db.transaction(() => held);
  const second = db.transaction(async () => 'done');
  const waits = async () =>
    (await scrape(url)).value('plinth_db_waiting_statements', { pool: 'transaction' });
  await untilAtLeast('one waits', async () => (await waits()) ?? 0, 1);
  free();
  await Promise.all([first, second]);
  await until('none waits', waits, (seen) => seen === 0);
  await t.rejects(db.run('select 1/0', []));
  await t.rejects(db.transaction(async () => Promise.reject(new Error('of the work'))));
  const { value } = await scrape(url);
  t.equal(value('plinth_db_failures_total', { pool: 'short' }), 1);
  t.equal(value('plinth_db_failures_total', { pool: 'transaction' }), 0, 'no failure of the database');
});

const aborted = async (url: string, reason: string) =>
  (await scrape(url)).value('http_server_aborted_requests_total', { route: '/users', reason }) === 1;

/** A service, and a request to it that gets more than any buffer on the way takes. */
async function longResponse(t: Test, overrides: Partial<Config> = {}) {
  const { url, db } = await freshService(t, {}, overrides);
  await db.run(
    `insert into public_collections.users (id, updated_at, email, doc)
     select gen_random_uuid(), now(), n || '@example.org', '{"name":"' || repeat('x', 10000) || '"}'
     from generate_series(1, 3000) as n`,
    [],
  );
  return { url, socket: connectTo(t, url, 'GET /users HTTP/1.1\r\nHost: a\r\n\r\n') };
}

function connectTo(t: Test, url: string, head: string): net.Socket {
  const { hostname, port } = new URL(url);
  const socket = net.connect(Number(port), hostname, () => socket.write(head));
  t.teardown(() => socket.destroy());
  return socket.on('error', () => undefined);
}

t.test('a reader that stalls is counted as such, and not among the responses', async (t) => {
  const { url } = await longResponse(t, { streamStallMs: 50 });
  await until('it is cut off', () => aborted(url, 'stalled'));
  const { value } = await scrape(url);
  t.equal(value(COUNT, { method: 'GET', route: '/users' }), undefined);
  t.equal(value('http_server_active_requests'), 1, 'the scrape itself');
  const bytes = value('http_server_response_body_bytes_total', { route: '/users' })!;
  t.ok(bytes > 0, 'what was written of it counts');
});

t.test('a reader that leaves', async (t) => {
  const { url, socket } = await longResponse(t);
  socket.once('data', () => socket.destroy());
  await until('it is counted', () => aborted(url, 'left'));
  t.equal((await scrape(url)).value('http_server_active_requests'), 1);
});

t.test('a client that leaves within its body', async (t) => {
  const { url } = await freshService(t);
  const fields = 'Content-Type: application/json\r\nContent-Length: 9\r\nExpect: 100-continue';
  const socket = connectTo(t, url, `POST /users HTTP/1.1\r\nHost: a\r\n${fields}\r\n\r\n`);
  socket.once('data', () => socket.destroy());
  await until('it is counted', () => aborted(url, 'body'));
  t.equal((await scrape(url)).value('http_server_active_requests'), 1);
});

t.test('messages that never became a request', async (t) => {
  const { url, raw } = await freshService(t);
  await raw('GARBAGE\r\n\r\n');
  await raw('BREW / HTTP/1.1\r\nHost: a\r\n\r\n');
  await raw('CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n');
  const { value } = await scrape(url);
  for (const status of ['400', '501', '405'])
    t.equal(value('http_server_refused_messages_total', { status }), 1, status);
});

t.test('invalid credentials, by scheme and reason', async (t) => {
  const service = await freshService(t, { AUTH: 'api-key basic', METRICS_PORT: '0', INSECURE: 'basic' });
  const key = newKey();
  await service.send('GET', '/users', { headers: { 'x-api-key': key } });
  await service.send('GET', '/users', { headers: { 'x-api-key': 'no-such-form' } });
  await service.send('GET', '/users');
  const basic = Buffer.from('a@example.org:wrong-password').toString('base64');
  await service.send('GET', '/users', { headers: { authorization: `Basic ${basic}` } });
  const { value, text, samples } = await scrape(service.metricsUrl!);
  const failures = (scheme: string, reason: string) =>
    value('plinth_auth_failures_total', { scheme, reason });
  t.equal(failures('api-key', 'The API key is unknown, expired or revoked.'), 1);
  t.equal(failures('api-key', 'The API key is malformed.'), 1);
  t.equal(failures('basic', 'The email or the password is wrong.'), 1);
  const counted = samples.filter(({ name }) => name === 'plinth_auth_failures_total');
  t.equal(counted.length, 3, 'no credential is no failure');
  for (const secret of [key, hashOf(key), 'a@example.org', 'wrong-password']) t.notOk(text.includes(secret));
});

t.test('followers of the events are counted, and why each ended', async (t) => {
  const { url } = await freshService(t);
  const readers = async () => (await scrape(url)).value('plinth_event_readers');
  t.equal(await readers(), 0);
  const followed = await follow(t, `${url}/events`);
  t.equal(await readers(), 1);
  followed.leave();
  await until('it has left', readers, (seen) => seen === 0);
  t.equal((await scrape(url)).value('plinth_event_streams_ended_total', { reason: 'left' }), 1);
});

t.test('tries to deliver are counted by how they ended', async (t) => {
  const service = await freshService(t, LOOPBACK);
  const target = await testTarget(t, (_message, _res, count) => (count === 0 ? 503 : 204));
  const { id } = await makeWebhook(service, target.url);
  const count = async (outcome: string) =>
    (await scrape(service.url)).value('plinth_webhook_try_duration_seconds_count', { outcome });
  await service.send('POST', `/webhooks/${id}/test`);
  await until('it was delivered', () => count('delivered'), 1);
  t.equal(await count('retry'), 1);
  const active = async () => (await scrape(service.url)).value('plinth_webhook_active_tries');
  await until('none is in flight', active, 0);
});

t.test('a feature adds metrics with names of their own, also after a scrape', async (t) => {
  const metrics = createMetrics();
  const [lamps, others] = [1, 2].map(() => single('plinth_lamps', 'Lamps that are on.', 'gauge'));
  lamps!.value = 3;
  t.notMatch(await exposition(await metrics.scrape()), 'plinth_lamps');
  metrics.add([lamps!.family]);
  const shown = exposition(await metrics.scrape());
  t.match(shown, /^# HELP plinth_lamps Lamps that are on\.\n.*\nplinth_lamps 3$/m);
  t.throws(() => metrics.add([others!.family]), { message: 'several metrics have the name plinth_lamps' });
  t.throws(() => metrics.add([metrics.http.active.family]), TypeError);
});

t.test('events that expire before webhooks receive them are counted and logged', async (t) => {
  const { url, features, logged } = await freshService(t);
  features.get('webhooks')!.dropped!(3);
  t.equal((await scrape(url)).value('plinth_webhook_dropped_events_total'), 3);
  t.match(logged.join(''), /"events":3.*events were deleted before webhooks received them: EVENTS_MAX_BYTES/);
  const without = await freshService(t, { WEBHOOKS: 'off' });
  const { value, text } = await scrape(without.url);
  t.notMatch(text, 'plinth_webhook');
  t.equal(value('plinth_event_readers'), 0);
});
