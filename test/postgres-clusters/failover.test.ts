import type postgres from 'postgres';
import { doctor, faultsOf } from '../support/doctor.js';
import { startProcess } from '../support/process.js';
import { send } from '../support/service.js';
import { openSql } from '../support/sql.js';
import t, { type Test } from '../support/test.js';
import { until, untilAtLeast } from '../support/until.js';
import { testDatabaseProxy } from './haproxy.js';
import { FAILOVER_MS, type Node, type PatroniCluster, testPatroni } from './patroni.js';
import { missingRoot } from './programs.js';
import { AGAIN_MS, CLIENTS, followEvents, startWriters, type Writers } from './writers.js';

const skip = missingRoot('patroni', 'etcd', 'haproxy', 'ip');

/** So many requests of one client may fail once there is a new primary: those of a second, with the pause after each. */
const MAX_REFUSED = 1000 / AGAIN_MS;

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

t.test(`under ${CLIENTS} writers, each confirmed write survives every failover`, { skip }, async (t) => {
  const cluster = await testPatroni(t);
  // A proxy that has not looked at its nodes yet closes connections.
  const env = { DB_START_MS: '3600000', DB_TIMEOUT_MS: '4000', MIGRATE: 'auto', LOG_LEVEL: 'fatal' };
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
    await promotion;
    writers.mark();
    await goesOn(writers);
    const report = writers.report();
    t.comment(`${name}: ${JSON.stringify(report)}`);
    t.ok(
      report.refusedAfter <= MAX_REFUSED,
      `${report.refusedAfter} requests of a client fail after the promotion`,
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
  await until('it reads from the standby', async () => (await send(service, 'GET', '/items')).status, 200);
  for (let n = 0; n < 5; n++) t.equal(await written(), 503);
  const { checks } = await doctor(t, { DATABASE_URL: databaseUrl });
  t.match(faultsOf(checks), [
    /^database problem: the database is a standby, which is read-only; connect to the primary$/,
  ]);
}

async function goesOn({ confirmed }: Writers): Promise<void> {
  const before = confirmed.size;
  await untilAtLeast('the writers go on', () => confirmed.size, before + 40);
}

/** Resolves when another node than `primary` accepts writes. */
async function watchPromotion({ nodes }: PatroniCluster, primary: Node): Promise<void> {
  const others = nodes
    .filter((node) => node !== primary)
    .map(({ url }) =>
      openSql(url, { max: 1, fetch_types: false, onnotice: () => undefined, connect_timeout: 5 }),
    );
  const isStandby = async (sql: postgres.Sql) => {
    const [row] = await sql`select pg_is_in_recovery() as standby`.catch(() => [{ standby: 'unknown' }]);
    return row!.standby as boolean | 'unknown';
  };
  try {
    await until(
      'another node is the primary',
      () => Promise.all(others.map(isStandby)),
      (standbys) => standbys.includes(false),
      FAILOVER_MS,
    );
  } finally {
    for (const sql of others) await sql.end({ timeout: 0 });
  }
}

/** All nodes have the same items. */
async function requireEqualNodes(t: Test, { nodes }: PatroniCluster, count: number): Promise<void> {
  for (const { url, name } of nodes) {
    const sql = openSql(url, { max: 1, fetch_types: false, onnotice: () => undefined });
    const counted = async () => (await sql`select count(*)::integer as n from items`)[0]!.n as number;
    await until(`${name} has all items`, counted, (seen) => seen === count);
    t.equal(await counted(), count, name);
    await sql.end();
  }
}
