import type postgres from 'postgres';
import { doctor } from '../support/doctor.js';
import { pause } from '../support/pause.js';
import { type TestService, testService } from '../support/service.js';
import type { Constants } from '../support/settings.js';
import { openSql, sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';
import { times } from '../support/thorough.js';
import { until, untilAtLeast } from '../support/until.js';
import { type DebianCluster, debianCluster, type Standby } from './debian.js';
import { missingPrograms } from './programs.js';

const MAX_AGE_S = 1;

const skip = missingPrograms('pg_basebackup');

interface Scene {
  readonly service: TestService;
  readonly replicas: readonly Standby[];
  /** How many statements with items each server ran since the last call: the primary first. */
  readonly reads: () => Promise<number[]>;
  /** Runs a statement on a replica. */
  readonly at: (replica: number, statement: string) => Promise<void>;
  /** Seconds since the commit of the last transaction that a replica has replayed. */
  readonly ageOf: (replica: number) => Promise<number>;
}

/** A primary and two replicas, which the tests use one after the other, each with a database of its own. */
let shared: Promise<{ primary: DebianCluster; replicas: readonly Standby[] }> | undefined;
let databases = 0;

function testCluster() {
  shared ??= (async () => {
    const primary = await debianCluster(t);
    await primary.start();
    const replicas = [await primary.standby('first'), await primary.standby('second')];
    const migrated = await testService(t, { DATABASE_URL: await primary.createDatabase('migrated') });
    await migrated.stop();
    return { primary, replicas };
  })();
  return shared;
}

/** A service with two replicas, the second of which is late by so many milliseconds. */
async function scene(t: Test, delayMs = 0, constants: Constants = {}): Promise<Scene> {
  const { primary, replicas } = await testCluster();
  const name = `plinth_${++databases}`;
  const databaseUrl = await primary.createDatabase(name, 'migrated');
  const urls = [databaseUrl, ...replicas.map(({ url }) => url(name))];
  const hosts = urls.slice(1).map((url) => new URL(url).host);
  const readUrl = databaseUrl.replace(new URL(databaseUrl).host, hosts.join(','));
  await until('the replicas have the database', () =>
    Promise.all(urls.slice(1).map(isThere)).then((found) => found.every(Boolean)),
  );
  await delay(replicas[1]!, delayMs);
  t.teardown(() => Promise.all(replicas.map((replica) => delay(replica, 0))));
  const service = await testService(t, { DATABASE_URL: databaseUrl, DATABASE_READ_URL: readUrl }, constants);
  const connections = urls.map((url) =>
    openSql(url, { max: 1, onnotice: () => undefined, fetch_types: false }),
  );
  t.teardown(() => Promise.all(connections.map((sql) => sql.end({ timeout: 1 }))));
  let before = urls.map(() => 0);
  return {
    service,
    replicas,
    reads: async () => {
      const now = await Promise.all(connections.map(countReads));
      const counts = now.map((count, at) => count - before[at]!);
      before = now;
      return counts;
    },
    ageOf: async (replica) => {
      const [row] = await connections[replica + 1]!`
        select extract(epoch from now() - pg_last_xact_replay_timestamp())::double precision as seconds`;
      return row!.seconds as number;
    },
    at: async (replica, statement) => void (await connections[replica + 1]!.unsafe(statement)),
  };
}

async function isThere(url: string): Promise<boolean> {
  const sql = openSql(url, { max: 1, onnotice: () => undefined, fetch_types: false });
  try {
    await sql`select 1`;
    return true;
  } catch {
    return false;
  } finally {
    await sql.end({ timeout: 0 });
  }
}

/** Lets a replica replay each commit so many milliseconds late, and end a pause. */
async function delay({ url }: Standby, ms: number): Promise<void> {
  const sql = openSql(url('postgres'), { max: 1, fetch_types: false });
  await sql.unsafe(`alter system set recovery_min_apply_delay = ${ms}`);
  await sql`select pg_reload_conf(), pg_wal_replay_resume()`;
  await sql.end();
}

/** Index scans of items since the server started; those of a replica that is down are none. */
async function countReads(sql: postgres.Sql): Promise<number> {
  try {
    await sql`select pg_stat_clear_snapshot()`;
    const [row] =
      await sql`select coalesce(idx_scan, 0)::integer as n from pg_stat_user_tables where relname = 'items'`;
    return row?.n ?? 0;
  } catch {
    return 0;
  }
}

/** Creates an item and reads it at once, many times; returns the statuses of the reads that did not show it. */
async function readOwnWrites({ send }: TestService, count = 20): Promise<string[]> {
  const missed: string[] = [];
  for (let n = 0; n < count; n++) {
    const { json, headers } = await send('POST', '/items', { body: { name: `item ${n}` } });
    const position = headers['write-position'] as string;
    const shown = await send('GET', `/items/${json.id}`, { headers: { 'write-position': position } });
    const page = await send('GET', '/items?limit=1&sort=-created_at');
    if (shown.status !== 200 || page.json.data[0]?.id !== json.id) missed.push(`${n}: ${shown.status}`);
  }
  return missed;
}

/** Sends reads until a replica has served some: the service has noticed that there are replicas. */
async function replicasAreUsed({ service, reads }: Scene): Promise<void> {
  await reads();
  await until('a replica reads', async () => {
    for (let n = 0; n < 20; n++) await service.send('GET', '/items/01890000-0000-7000-8000-000000000000');
    const [, ...ofReplicas] = await reads();
    return ofReplicas.some((count) => count > 0);
  });
}

t.test('reads go to replicas, and each caller sees its own writes', { skip }, async (t) => {
  const here = await scene(t);
  const { send } = here.service;
  t.same(await readOwnWrites(here.service), []);
  await replicasAreUsed(here);
  t.same(await readOwnWrites(here.service), []);
  await here.reads();
  const [, first, second] = await until(
    'both replicas read, and the primary does not',
    async () => {
      for (let n = 0; n < 50; n++) await send('GET', '/items?limit=1&sort=name');
      return here.reads();
    },
    (counts) => counts[0] === 0 && counts[1]! > 0 && counts[2]! > 0,
  );
  t.ok(first! > 0 && second! > 0);

  t.equal((await send('GET', '/items', { headers: { 'write-position': 'A' } })).status, 400);
  const { headers } = await send('GET', '/items');
  t.notOk('write-position' in headers, 'reads have no position');

  const sql = sqlOf(t, here.replicas[0]!.url('postgres'));
  const sessions = async () =>
    (await sql`select 1 from pg_stat_activity where application_name like 'plinth%'`).length;
  t.ok((await sessions()) > 0);
  await here.service.stop();
  await until('the service has left the replica', sessions, (count) => count === 0);
});

t.test('plinth doctor checks replicas', { skip }, async (t) => {
  const { primary, replicas } = await testCluster();
  const DATABASE_URL = await primary.createDatabase('checked');
  const standby = new URL(replicas[0]!.url('checked')).host;
  await until('the replica has the database', () => isThere(replicas[0]!.url('checked')));
  const hosts = [standby, new URL(DATABASE_URL).host, '127.0.0.1:1'];
  const DATABASE_READ_URL = DATABASE_URL.replace(hosts[1]!, hosts.join(','));
  const { checks } = await doctor(t, { DATABASE_URL, DATABASE_READ_URL });
  t.match(
    checks.filter(({ check }) => check === 'replicas'),
    [
      { status: 'ok', message: `${standby} is a standby, PostgreSQL 1` },
      { status: 'problem', message: `${hosts[1]} is no standby` },
      { status: 'problem', message: /^127\.0\.0\.1:1: the database cannot be reached/ },
    ],
  );
});

t.test('a replica whose replay is paused', { skip }, async (t) => {
  const here = await scene(t);
  const { send } = here.service;
  await send('POST', '/items', { body: { name: 'before' } });
  await replicasAreUsed(here);
  for (const replica of [0, 1]) await here.at(replica, 'select pg_wal_replay_pause()');
  t.same(await readOwnWrites(here.service, 5), [], 'the primary reads what they do not show');
  const all = async (headers = {}) =>
    ((await send('GET', '/items?sort=name', { headers })).json as unknown[]).length;
  t.equal(await all({ 'cache-control': 'no-cache' }), 6, 'no-cache reads from the primary');
  t.equal(await all({ 'cache-control': 'max-age=0' }), 6);
  for (const replica of [0, 1]) await here.at(replica, 'select pg_wal_replay_resume()');
  await replicasAreUsed(here);
  t.equal(await all(), 6);
});

t.test('replicas that show too old a state are not used', { skip }, async (t) => {
  const here = await scene(t, 5000, { readMaxAgeMs: 1000 * MAX_AGE_S });
  const { send } = here.service;
  await send('POST', '/items', { body: { name: 'before' } });
  await replicasAreUsed(here);
  await here.at(0, 'select pg_wal_replay_pause()');
  const { json } = await send('POST', '/items', { body: { name: 'Lamp' } });
  const status = async (headers = {}) => (await send('GET', `/items/${json.id}`, { headers })).status;
  const seen = new Set<number>();
  await until(
    'both replicas are older than the maximum age',
    async () => {
      seen.add(await status());
      return await Promise.all([0, 1].map(here.ageOf));
    },
    (ages) => ages.every((seconds) => seconds > 2 * MAX_AGE_S),
  );
  for (let n = 0; n < 100; n++) seen.add(await status());
  t.same([...seen], [200], 'no read shows less than the maximum age allows');
  const old = await until(
    'a client that accepts a minute may get the older state',
    () => status({ 'cache-control': 'max-age=60' }),
    404,
  );
  t.equal(old, 404);
  t.equal(await status({ 'cache-control': 'max-age=1' }), 200);
});

t.test('replicas that are down are not used, and are used again', { skip }, async (t) => {
  const here = await scene(t);
  const { send } = here.service;
  const { json } = await send('POST', '/items', { body: { name: 'Lamp' } });
  await replicasAreUsed(here);
  let isOver = false;
  const statuses = new Set<number>();
  const load = Promise.all(
    Array.from({ length: 8 }, async (_, at) => {
      while (!isOver) {
        const path = at % 2 === 0 ? `/items/${json.id}` : '/items?sort=name';
        statuses.add((await send('GET', path)).status);
        // Leaves processor time to the restarts.
        await pause(100);
      }
    }),
  );
  for (const replica of here.replicas) await replica.stop();
  await untilAtLeast('the primary reads', async () => (await here.reads())[0]!, 1);
  for (const replica of here.replicas) await replica.start();
  await until(
    'a replica reads again',
    async () => (await here.reads()).slice(1),
    (seen) => seen.some((count) => count > 0),
  );
  isOver = true;
  await load;
  t.same([...statuses], [200], 'no client noticed it');
});

t.test('who reads a list from a replica and follows its cursor misses nothing', { skip }, async (t) => {
  const here = await scene(t, 300);
  const { send } = here.service;
  await send('POST', '/items', { body: { name: 'first' } });
  await replicasAreUsed(here);
  let isOver = false;
  let count = 1;
  const writer = (async () => {
    while (!isOver) {
      if ((await send('POST', '/items', { body: { name: 'more' } })).status === 201) count++;
      // Each list would read thousands of records.
      await pause(50);
    }
  })();
  for (let n = 0; n < times(10, 30); n++) {
    // Without the caller's own position, as another process would read.
    const list = await send('GET', '/items?sort=created_at', { headers: { 'cache-control': 'max-age=60' } });
    const known = new Set((list.json as { id: string }[]).map(({ id }) => `/items/${id}`));
    let after = list.headers['events-cursor'] as string;
    t.ok(after);
    const upTo = count;
    while (known.size < upTo) {
      const { json } = await send('GET', `/events?after=${after}&limit=1000`, {
        headers: { prefer: 'wait=5' },
      });
      for (const { subject } of json.data) known.add(subject);
      after = json.meta.cursor;
    }
  }
  isOver = true;
  await writer;
});
