import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import t, { type Test } from 'tap';
import { doctor, faultsOf } from '../support/doctor.js';
import { startProcess, until } from '../support/process.js';
import { send } from '../support/service.js';
import { testDatabaseProxy } from './haproxy.js';
import { type Node, type PatroniCluster, testPatroni } from './patroni.js';
import { missingRoot } from './programs.js';
import { followEvents, startWriters, type Writers } from './writers.js';

const skip = missingRoot('patroni', 'etcd', 'haproxy', 'ip');

/** Bound for writes to resume once there is a new primary, in milliseconds. */
const RESUME_MS = 2000;
/** What a machine that is busy with three databases may add. */
const SLACK_MS = 2000;

interface Fault {
  readonly name: string;
  /** Causes it. Returns what ends it. */
  readonly cause: (cluster: PatroniCluster, primary: Node) => Promise<() => void>;
}

const FAULTS: readonly Fault[] = [
  {
    name: 'a planned switchover',
    cause: async (cluster, primary) => {
      await cluster.switchover(primary);
      return () => undefined;
    },
  },
  {
    name: 'kill -9 of the primary and its Patroni, and the return of both',
    cause: async (_, primary) => {
      await primary.kill();
      return () => primary.start();
    },
  },
  {
    name: 'a network partition between the primary and all others',
    cause: async (_, { host }) => {
      host.disconnect();
      return host.reconnect;
    },
  },
  {
    name: 'a partition between the primary and etcd alone: clients reach the node, which is demoted',
    cause: async ({ etcd }, { host }) => {
      host.block(etcd.address);
      return () => host.unblock(etcd.address);
    },
  },
];

t.test('under 64 writers, each confirmed write exists once through every failover', { skip }, async (t) => {
  const cluster = await testPatroni(t);
  const env = { DB_TIMEOUT_MS: '4000', MIGRATE: 'auto', LOG_LEVEL: 'fatal' };
  const direct = await startProcess(t, { ...env, DATABASE_URL: cluster.url }).ready();
  const proxied = await startProcess(t, {
    ...env,
    DATABASE_URL: await testDatabaseProxy(t, cluster.nodes),
  }).ready();
  const first = await cluster.primary();
  const pinned = await startProcess(t, { ...env, DATABASE_URL: first.url }).ready();
  const writers = startWriters(t, [direct, proxied]);
  const followers = [followEvents(t, direct), followEvents(t, proxied)];
  await goesOn(writers);
  writers.report();

  for (const { name, cause } of FAULTS) {
    const primary = await cluster.primary();
    const promotion = watchPromotion(cluster, primary);
    const heal = await cause(cluster, primary);
    const promotedAt = await promotion;
    await goesOn(writers);
    const report = writers.report(promotedAt);
    t.comment(`${name}: ${JSON.stringify(report)}`);
    t.ok(
      report.resumedMs! <= RESUME_MS + SLACK_MS,
      `writes resume ${report.resumedMs} ms after the promotion`,
    );
    if (primary === first && name === FAULTS[0]!.name) await requireReadOnly(t, pinned, first.url);
    heal();
    await cluster.healthy();
    await goesOn(writers);
    t.comment(`afterwards: ${JSON.stringify(writers.report())}`);
  }
  await writers.stop();
  t.same([...writers.faults], []);

  for (const [service, follower] of [direct, proxied].map((url, at) => [url, followers[at]!] as const)) {
    const { json } = await send(service, 'GET', '/items?sort=created_at');
    const names = (json as { name: string }[]).map(({ name }) => name);
    t.equal(new Set(names).size, names.length, 'none is there twice');
    t.same(
      [...writers.confirmed].filter((name) => !names.includes(name)),
      [],
      'none is lost',
    );
    t.equal(names.length, writers.confirmed.size, 'and no others are there');
    await until(
      'all events have been read',
      () => follower.names.length >= names.length || follower.gone() > 0,
    );
    await follower.stop();
    t.equal(follower.gone(), 0, 'synchronous replication loses no event');
    t.same(follower.names.toSorted(), names.toSorted(), 'each event came once, and none was skipped');
  }
  await requireEqualNodes(t, cluster, writers.confirmed.size);
});

/** A service whose node was demoted reads, and confirms no write. */
async function requireReadOnly(t: Test, service: string, databaseUrl: string): Promise<void> {
  const written = async () => (await send(service, 'POST', '/items', { body: { name: 'refused' } })).status;
  await until('it reads from the standby', async () => (await send(service, 'GET', '/items')).status === 200);
  for (let n = 0; n < 20; n++) t.equal(await written(), 503);
  const { checks } = await doctor(t, { DATABASE_URL: databaseUrl });
  t.match(faultsOf(checks), [
    /^database problem: the database is a standby, which is read-only; connect to the primary$/,
  ]);
}

async function goesOn({ confirmed }: Writers): Promise<void> {
  const before = confirmed.size;
  await until('the writers go on', () => confirmed.size > before + 300);
}

/** The moment at which another node than `primary` accepts writes, by performance.now(). */
async function watchPromotion({ nodes }: PatroniCluster, primary: Node): Promise<number> {
  const others = nodes.filter((node) => node !== primary);
  let isOver = false;
  const moments = others.map(async ({ url }) => {
    const sql = postgres(url, { max: 1, fetch_types: false, onnotice: () => undefined, connect_timeout: 5 });
    try {
      while (!isOver) {
        const [row] = await sql`select pg_is_in_recovery() as standby`.catch(() => [{ standby: true }]);
        if (row!.standby === false) return performance.now();
        await sleep(20);
      }
      return Number.NaN;
    } finally {
      await sql.end({ timeout: 0 });
    }
  });
  try {
    return await Promise.race(moments);
  } finally {
    isOver = true;
  }
}

/** All nodes have the same items. */
async function requireEqualNodes(t: Test, { nodes }: PatroniCluster, count: number): Promise<void> {
  for (const { url, name } of nodes) {
    const sql = postgres(url, { max: 1, fetch_types: false, onnotice: () => undefined });
    const counted = async () => (await sql`select count(*)::integer as n from items`)[0]!.n as number;
    await until(`${name} has all items`, async () => (await counted()) === count);
    t.equal(await counted(), count, name);
    await sql.end();
  }
}
