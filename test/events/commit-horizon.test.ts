import type postgres from 'postgres';
import { valuesOf } from '../support/callers.js';
import { CITUS_URL, touchOnCitus } from '../support/citus.js';
import { startProcess } from '../support/process.js';
import { freshService, send, testDatabase } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';
import { notInDefault } from '../support/thorough.js';
import { until, untilAtLeast, untilLength } from '../support/until.js';
import { follow } from './follow.js';

/** Creates, patches and deletes of items by SQL, as transactions that a test holds open. */
async function setup(t: Test) {
  const service = await freshService(t);
  const sql = sqlOf(t, service.databaseUrl, { max: 8 });
  const names = ['a', 'b'];
  const made = await Promise.all(names.map((name) => service.send('POST', '/items', { body: { name } })));
  const [a, b] = made.map(({ json }) => json.id as string) as [string, string];
  const touch = (tx: postgres.Sql, id: string) =>
    CITUS_URL !== ''
      ? touchOnCitus(tx, id)
      : tx`update items set version = version + 1,
      doc = regexp_replace(doc, '"_version":\\d+', '"_version":' || version + 1) where id = ${id}`;
  return { service, sql, a, b, touch };
}

/** Leaves a transaction open while others go on: for so many statements. */
async function linger(tx: postgres.Sql, statements: number): Promise<void> {
  for (let count = 0; count < statements; count++) await tx`select 1`;
}

const allOf = async (
  url: string,
): Promise<{ subject: string; data: { _version: number }; sequence: string }[]> =>
  (await send(url, 'GET', '/events?limit=1000')).json.data;

t.test('an event of a late transaction is neither passed over nor published too early', async (t) => {
  const { service, sql, a, b, touch } = await setup(t);
  const stream = await follow(t, `${service.url}/events`);
  await untilLength('the creations are published', () => stream.messages, 2);
  const [late, early] = [await sql.reserve(), await sql.reserve()];
  // The later writer of `b` has begun first, and has the lower transaction number.
  await late`begin`;
  await touch(late, a);
  await early`begin`;
  await touch(early, b);
  await early`commit`;
  await touch(late, b);
  for (let count = 0; count < 10; count++)
    await service.send('POST', '/items', { body: { name: `beside ${count}` } });
  t.equal((await allOf(service.url)).length, 2, 'nothing after the transaction that is still running');
  t.equal(stream.messages.length, 2);
  await late`commit`;
  late.release();
  early.release();
  await untilLength('all is published', () => stream.messages, 15);
  const versions = (id: string) =>
    stream.messages
      .filter(({ data }) => data.subject === `/items/${id}`)
      .map(({ data }) => data.data._version);
  t.same(versions(a), [1, 2]);
  t.same(versions(b), [1, 2, 3]);
  const ids = stream.messages.map(({ id }) => id);
  t.same(ids, ids.toSorted(), 'in one order');
  const all = await untilLength('all can be read', () => allOf(service.url), 15);
  t.same(valuesOf(all, 'sequence'), ids);
});

t.test('a transaction that runs is waited for although none with a higher number has ended', async (t) => {
  const { service, sql, a, b, touch } = await setup(t);
  const stream = await follow(t, `${service.url}/events`);
  await untilLength('the creations are published', () => stream.messages, 2);
  // The snapshot that shows what `low` wrote ends just below `high`.
  const [low, high] = [await sql.reserve(), await sql.reserve()];
  await low`begin`;
  await low`select pg_current_xact_id()`;
  await high`begin`;
  await touch(high, a);
  await touch(low, b);
  await low`commit`;
  for (let count = 0; count < 20; count++) t.equal((await allOf(service.url)).length, 2);
  await high`commit`;
  low.release();
  high.release();
  await untilLength('all is published', () => stream.messages, 4);
  const subjects = stream.messages.slice(2).map(({ data }) => data.subject);
  t.same(subjects, [`/items/${a}`, `/items/${b}`]);
});

t.test('what is rolled back is never published, and delays no other event', async (t) => {
  const { service, sql, a, touch } = await setup(t);
  const stream = await follow(t, `${service.url}/events`);
  const doomed = await sql.reserve();
  await doomed`begin`;
  await touch(doomed, a);
  await service.send('POST', '/items', { body: { name: 'after' } });
  await doomed`rollback`;
  doomed.release();
  await untilLength('the rest is published', () => stream.messages, 3);
  t.same(valuesOf(stream.messages, 'event'), ['items.created', 'items.created', 'items.created']);
});

t.test('readers in several processes see every event once', { skip: notInDefault }, async (t) => {
  const { service, sql, touch } = await setup(t);
  const other = startProcess(t, { DATABASE_URL: service.databaseUrl });
  const urls = [service.url, await other.ready()];
  const streams = await Promise.all(urls.map((url) => follow(t, `${url}/events`)));
  const ids: string[] = [];
  for (let count = 0; count < 5; count++)
    ids.push((await service.send('POST', '/items', { body: { name: `item ${count}` } })).json.id);
  const [WRITERS, TRANSACTIONS] = [6, 25];
  const writer = async (number: number) => {
    for (let count = 0; count < TRANSACTIONS; count++) {
      const [one, two] = [ids[(number + count) % 5]!, ids[(number * 2 + count * 3) % 5]!].sort();
      await sql.begin(async (tx) => {
        await tx`select pg_current_xact_id()`;
        if (number === 0) await linger(tx as never, 50);
        await touch(tx as never, one!);
        if (number < 3) await linger(tx as never, 5);
        if (two !== one) await touch(tx as never, two!);
      });
    }
  };
  const writing = Promise.all([
    ...Array.from({ length: WRITERS }, (_, number) => writer(number)),
    ...Array.from({ length: 40 }, (_, number) =>
      send(urls[number % 2]!, 'POST', '/items', { body: { name: `created ${number}` } }),
    ),
  ]);
  // A reader by pages meanwhile, from its cursor to the next.
  const paged: string[] = [];
  let cursor = '';
  let written = false;
  void writing.then(() => (written = true));
  const [row] = await until('all is written and read by pages', async () => {
    const before = written;
    const { json } = await send(urls[1]!, 'GET', `/events?limit=7${cursor === '' ? '' : `&after=${cursor}`}`);
    for (const event of json.data) paged.push(event.sequence);
    cursor = json.meta.cursor;
    if (!before) return false;
    const rows = await sql<{ count: number }[]>`select count(*)::integer as count from events`;
    return rows[0]!.count === paged.length && rows;
  });
  await writing;
  for (const stream of streams) {
    await untilAtLeast('all is published', () => stream.messages, row!.count);
    t.same(valuesOf(stream.messages, 'id'), paged, 'each once, and in the same order for everybody');
    const last = new Map<string, number>();
    for (const { data } of stream.messages) {
      t.equal(data.data._version, (last.get(data.subject) ?? 0) + 1, `${data.subject} in order`);
      last.set(data.subject, data.data._version);
    }
  }
});

t.test('the horizon of a new process is that of the database', async (t) => {
  const databaseUrl = await testDatabase(t);
  const first = await freshService(t, { DATABASE_URL: databaseUrl });
  await first.send('POST', '/items', { body: { name: 'one' } });
  const second = await freshService(t, { DATABASE_URL: databaseUrl });
  await untilLength('it is read', async () => (await second.send('GET', '/events')).json.data, 1);
});
