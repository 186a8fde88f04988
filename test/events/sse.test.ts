import net from 'node:net';
import { RESPONSES } from '../../src/limits/byte-budget.js';
import { deleteItems } from '../support/citus.js';
import { testProxy } from '../support/proxy.js';
import { freshService, type TestService, testDatabase } from '../support/service.js';
import type { Constants } from '../support/settings.js';
import { sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';
import { until, untilLength } from '../support/until.js';
import { follow, valuesIn } from './follow.js';

const create = async ({ send }: TestService, name: string, more = {}) =>
  (await send('POST', '/items', { body: { name, ...more } })).json.id as string;

async function setup(t: Test, env: Record<string, string> = {}, constants: Constants = {}) {
  const service = await freshService(t, env, constants);
  return { service, follow: (path: string, headers = {}) => follow(t, service.url + path, headers) };
}

t.test('a stream tells what was and what comes, each with its cursor as id', async (t) => {
  const { service, follow } = await setup(t);
  const first = await create(service, 'before');
  const stream = await follow('/api/v1/events');
  t.equal(stream.status, 200);
  t.equal(stream.headers['content-type'], 'text/event-stream');
  t.equal(stream.headers['cache-control'], 'no-store');
  const second = await create(service, 'after');
  await untilLength('both are published', () => stream.messages, 2);
  t.match(stream.messages, [
    { event: 'items.created', data: { subject: `/items/${first}`, data: { name: 'before' } } },
    { event: 'items.created', data: { subject: `/items/${second}`, data: { name: 'after' } } },
  ]);
  for (const { id, data } of stream.messages) t.equal(id, data.sequence);
  t.match(stream.text(), /^retry: \d+\n\n/);
});

t.test('what a reader has taken holds no memory, however long its stream lasts', async (t) => {
  const warnings: string[] = [];
  const note = ({ name }: Error) => void warnings.push(name);
  process.on('warning', note);
  t.teardown(() => process.off('warning', note));
  const { service, follow } = await setup(t);
  const stream = await follow('/events');
  for (let count = 1; count <= 12; count++) {
    await create(service, `item ${count}`);
    await untilLength('it arrives', () => stream.messages, count);
  }
  await until('nothing is held', () => RESPONSES.held, 0);
  t.same(warnings, [], 'no listener remains of an event that was sent');
});

t.test('Last-Event-ID resumes, also over an `after` that is repeated', async (t) => {
  const { service, follow } = await setup(t);
  for (const name of ['a', 'b', 'c']) await create(service, name);
  const whole = await follow('/events');
  await untilLength('all is published', () => whole.messages, 3);
  const ids = whole.messages.map(({ id }) => id);
  whole.leave();
  const resumed = await follow(`/events?after=${ids[0]}`, { 'last-event-id': ids[1] });
  await create(service, 'd');
  await untilLength('the rest is published', () => resumed.messages, 2);
  t.same(valuesIn(resumed), ['c', 'd']);
  t.equal((await follow('/events', { 'last-event-id': 'x' })).status, 400);
  t.equal((await follow('/events', { 'last-event-id': '00000001000' })).status, 410);
});

t.test('heartbeats keep a stream alive and its cursor up to date', async (t) => {
  const { service, follow } = await setup(t, {}, { eventsHeartbeatMs: 50 });
  const stream = await follow('/events?types=users.*');
  await create(service, 'not requested');
  await until(
    'its cursor has passed it',
    () => stream.lastId().slice(0, 11),
    (seen) => seen > '00000000000',
  );
  t.match(stream.text(), /\n:\nid: [0-9a-z]{11}-[0-9a-f]{6}\n\n/);
  t.same(stream.messages, []);
  const resumed = await follow('/events', { 'last-event-id': stream.lastId() });
  await create(service, 'next');
  await untilLength('the next is published', () => resumed.messages, 1);
  t.equal(resumed.messages[0]!.data.data.name, 'next');
});

t.test('a reader that does not read is cut, and gets the rest when it comes again', async (t) => {
  const { service, follow } = await setup(t, {}, { eventsBuffer: 65_536, eventsHeartbeatMs: 500 });
  const note = 'x'.repeat(500_000);
  const slow = await follow('/events');
  const quick = await follow('/events');
  await create(service, 'first');
  await until('both have the first', () => slow.messages.length + quick.messages.length === 2);
  slow.pause();
  // More than what sockets take between them.
  const COUNT = 26;
  for (let count = 0; count < COUNT; count++) await create(service, `large ${count}`, { note });
  await untilLength('the quick one has all', () => quick.messages, COUNT + 1);
  await until('the slow one is cut', () => service.feed!.streams.metrics.readers.value, 1);
  const resumed = await follow('/events', { 'last-event-id': slow.lastId() });
  await untilLength('it has the rest', () => resumed.messages, COUNT);
  const names = Array.from({ length: COUNT }, (_, count) => `large ${count}`);
  t.same(valuesIn(resumed), names);
});

t.test('a reader that takes nothing between two heartbeats is cut', async (t) => {
  const { service } = await setup(t, {}, { eventsHeartbeatMs: 200, eventsBuffer: 104_857_600 });
  for (let count = 0; count < 14; count++) await create(service, `${count}`, { note: 'x'.repeat(900_000) });
  const { port } = new URL(service.url);
  const socket = net.connect(Number(port), '127.0.0.1', () =>
    socket.write('GET /events HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n'),
  );
  t.teardown(() => socket.destroy());
  socket.pause();
  await until('it is there', () => service.feed!.streams.metrics.readers.value, 1);
  await until('it is gone', () => service.feed!.streams.metrics.readers.value, 0);
});

t.test('places are bounded, and free again when a reader leaves', async (t) => {
  const { service, follow } = await setup(t, {}, { eventsStreams: 2 });
  const stream = await follow('/events');
  const controller = new AbortController();
  const options = { headers: { prefer: 'wait=60' }, signal: controller.signal };
  const waiting = fetch(`${service.url}/events?after=now`, options).catch(() => 'left');
  await until('all are accepted', () => service.feed!.streams.metrics.readers.value, 2);
  t.equal((await follow('/events')).status, 503);
  controller.abort();
  t.equal(await waiting, 'left');
  const isOpen = ({ status }: { status: number }) => status === 200;
  const second = await until('one is free', () => follow('/events'), isOpen);
  t.equal((await service.send('GET', '/events')).status, 200, 'a client that does not wait needs none');
  stream.leave();
  second.leave();
  await until('both are free', () => service.feed!.streams.metrics.readers.value, 0);
});

t.test('a stream ends after its time, and with the service', async (t) => {
  const brief = await setup(t, {}, { eventsStreamMs: 100, eventsHeartbeatMs: 50 });
  const stream = await brief.follow('/events');
  await until('it is over', () => stream.isOver());
  const { service, follow } = await setup(t);
  const last = await follow('/events');
  const waiting = service.send('GET', '/events?after=now', { headers: { prefer: 'wait=60' } });
  await until('both are there', () => service.feed!.streams.metrics.readers.value, 2);
  await service.feed!.close();
  await until('the stream is over', () => last.isOver());
  t.same((await waiting).json.data, []);
});

t.test('a hundred streams get one event', async (t) => {
  const { service, follow } = await setup(t);
  const streams = await Promise.all(
    Array.from({ length: 100 }, (_, n) => follow(n % 2 === 0 ? '/events' : '/events?types=items.created')),
  );
  const sql = sqlOf(t, service.databaseUrl);
  const listeners = () =>
    sql`select 1 from pg_stat_activity where datname = current_database() and query ilike 'listen%events%'`;
  await untilLength('one connection listens', listeners, 1);
  const id = await create(service, 'news');
  for (const stream of streams) {
    await untilLength('it is published', () => stream.messages, 1);
    t.equal(stream.messages[0]!.data.subject, `/items/${id}`);
  }
});

t.test('what others write wakes a stream, by a message or by looking', async (t) => {
  const databaseUrl = await testDatabase(t);
  const one = await freshService(t, { DATABASE_URL: databaseUrl });
  const two = await freshService(t, { DATABASE_URL: databaseUrl });
  const stream = await follow(t, `${two.url}/events`);
  await create(one, 'by another process');
  await untilLength('it is published', () => stream.messages, 1);
  const sql = sqlOf(t, databaseUrl);
  await deleteItems(sql);
  await untilLength('it is published', () => stream.messages, 2);
  t.equal(stream.messages[1]!.event, 'items.deleted');
});

t.test('a stream outlives the loss of the database, and misses nothing', async (t) => {
  const databaseUrl = await testDatabase(t);
  const proxy = await testProxy(t, databaseUrl);
  const reader = await freshService(t, { DATABASE_URL: proxy.url });
  const writer = await freshService(t, { DATABASE_URL: databaseUrl });
  const stream = await follow(t, `${reader.url}/events`);
  await create(writer, 'before');
  await untilLength('it is published', () => stream.messages, 1);
  proxy.cut();
  for (let count = 0; count < 5; count++) await create(writer, `meanwhile ${count}`);
  await proxy.restore();
  await untilLength('all is published', () => stream.messages, 6);
  t.same(valuesIn(stream), ['before', ...[0, 1, 2, 3, 4].map((count) => `meanwhile ${count}`)]);
  t.notOk(stream.isOver());
});
