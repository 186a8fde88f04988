import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { endLeases } from '../faults/leases.js';
import { testTarget } from '../features/webhooks/target.js';
import { documentOf } from '../support/command.js';
import { doctor, faultsOf } from '../support/doctor.js';
import { replacing, type ServiceProcess, startProcess, WITH_CONSTANTS } from '../support/process.js';
import { send } from '../support/service.js';
import { openSql, sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';
import { until, untilAtLeast } from '../support/until.js';
import { type DebianCluster, debianCluster } from './debian.js';
import { missingPrograms } from './programs.js';
import { CLIENTS, eventsAfter, type FeedEvent, rowsOf, startWriters } from './records.js';

/** Deliveries are retried every two seconds for minutes, so that some are pending in the backup. */
const SETTINGS = {
  LOG_LEVEL: 'error',
  WEBHOOK_ALLOW: '127.0.0.1',
  INSECURE: 'webhooks',
  ...replacing({ webhookRetries: Array(50).fill(2) }),
};
const ENOUGH = 40;

interface Service extends ServiceProcess {
  readonly url: string;
}

async function startService(t: Test, databaseUrl: string): Promise<Service> {
  const service = startProcess(t, { DATABASE_URL: databaseUrl, ...SETTINGS }, WITH_CONSTANTS);
  return { ...service, url: await service.ready() };
}

async function stopService(t: Test, { child, ended, stderr }: Service): Promise<void> {
  child.kill('SIGTERM');
  t.equal(await ended, 0);
  t.equal(stderr(), '');
}

interface Message {
  readonly id: string;
  readonly body: string;
  readonly accepted: boolean;
}

/** Two receivers: one accepts everything, one accepts nothing until it is opened. */
async function startReceivers(t: Test, url: string) {
  let isOpen = false;
  const [eager, reluctant]: [Message[], Message[]] = [[], []];
  const targets = [
    await testTarget(t, ({ id, body }) => {
      eager.push({ id, body, accepted: true });
      return 204;
    }),
    await testTarget(t, ({ id, body }) => {
      reluctant.push({ id, body, accepted: isOpen });
      return isOpen ? 204 : 503;
    }),
  ];
  for (const target of targets) {
    const { status } = await send(url, 'POST', '/webhooks', {
      body: { url: target.url, types: ['items.*'] },
    });
    t.equal(status, 201);
  }
  const open = () => {
    isOpen = true;
  };
  return { eager, reluctant, open };
}

/** The events of a feed that a restored one has, and the others. */
function divide(all: readonly FeedEvent[], restored: readonly FeedEvent[]) {
  const ids = new Set(idsOf(restored));
  return { known: all.filter(({ id }) => ids.has(id)), lost: all.filter(({ id }) => !ids.has(id)) };
}

/**
 * The lost events that come after the restored ones. A transaction that committed during the backup can have earlier numbers
 * than one that the backup has. Cursors of its events are valid, because everything new comes after them.
 */
function notBefore(restored: readonly FeedEvent[], lost: readonly FeedEvent[]): FeedEvent[] {
  const last = restored.at(-1)!.sequence;
  return lost.filter(({ sequence }) => sequence > last);
}

type Receivers = Awaited<ReturnType<typeof startReceivers>>;

const idsOf = (events: readonly FeedEvent[]) => events.map(({ id }) => id);
const isItem = ({ type }: FeedEvent) => type.startsWith('items.');

async function writeSome(t: Test, url: string, prefix: string): Promise<void> {
  const writers = startWriters(url, prefix);
  await untilAtLeast('there are enough records', () => writers.done(), ENOUGH);
  await writers.stop();
  t.same(writers.failed, []);
}

/** Checks that a service finds what there was at the backup: `rows` of each table, and what it reports about them. */
async function checkRecords(t: Test, databaseUrl: string, { url }: Service, rows: Map<string, string[]>) {
  for (const name of ['users', 'items', 'posts']) {
    const expected = rows.get(name)!.length;
    t.ok(expected > 0, `there are ${name}`);
    const ids = new Set<string>();
    for (let [page, pages] = [1, 1]; page <= pages; page++) {
      const { json } = await send(url, 'GET', `/${name}?page=${page}&limit=100`);
      t.equal(json.meta.total, expected, `total of ${name}`);
      pages = json.meta.totalPages;
      for (const { id } of json.data) ids.add(id);
    }
    t.equal(ids.size, expected, `pages of ${name}`);
  }
  const plan = await documentOf(t, ['migrate', '--plan'], { DATABASE_URL: databaseUrl });
  t.same(plan, { steps: [], drops: [], violations: [] });
  const { code, checks } = await doctor(t, { DATABASE_URL: databaseUrl, ...SETTINGS });
  t.equal(code, 0, faultsOf(checks).join('\n'));
}

/** Opens the receiver that accepted nothing, and waits until both have received every item event of a feed. */
async function allDelivered({ eager, reluctant, open }: Receivers, events: readonly FeedEvent[]) {
  open();
  for (const received of [eager, reluctant])
    await until('webhooks have arrived', () => {
      const ids = new Set(received.filter(({ accepted }) => accepted).map(({ id }) => id));
      return events.filter(isItem).every(({ id }) => ids.has(id));
    });
}

/**
 * The deliveries of a restored service: deliveries that were pending in the backup come again with the same id, although
 * they were accepted after it, and no id ever stands for two events.
 */
async function checkWebhooks(
  t: Test,
  { eager, reluctant }: Receivers,
  restored: readonly FeedEvent[],
  sent: readonly [eager: number, reluctant: number],
) {
  await until('pending deliveries arrive again', () => {
    const again = new Set(reluctant.slice(sent[1]).map(({ id }) => id));
    return restored.filter(isItem).every(({ id }) => again.has(id));
  });
  const bodies = new Map<string, string>();
  for (const { id, body } of [...eager, ...reluctant]) {
    const known = bodies.get(id);
    if (known !== undefined && known !== body) t.fail(`${id} stands for two events: ${known} ${body}`);
    bodies.set(id, body);
  }
  const known = new Set(eager.slice(0, sent[0]).map(({ id }) => id));
  const twice = eager.slice(sent[0]).filter(({ id }) => known.has(id)).length;
  t.comment(`${twice} of ${sent[0]} deliveries arrived again at the receiver that accepts everything`);
}

/**
 * How cursors behave that clients hold from after the backup. `last` is a reader that had read everything when the service
 * was stopped; `lost` are the events that are in no backup.
 */
async function checkCursors(
  t: Test,
  url: string,
  { before, last, lost }: { before: string; last: string; lost: readonly FeedEvent[] },
) {
  const since = await eventsAfter(url, before);
  t.equal(since.status, 200, 'a cursor from before the backup is valid');
  const ids = new Set(idsOf(since.events));
  t.ok(lost.length > 0);
  t.notOk(
    lost.some(({ id }) => ids.has(id)),
    'events from after the backup are not in the feed',
  );
  for (const cursor of [lost[0]!.sequence, last])
    t.match(await eventsAfter(url, cursor), { status: 410, code: 'CURSOR_GONE' });
}

/** Writes until numbers up to `lastNumber` are in use again, and reads after the cursor that had this number. */
async function checkReusedNumbers(
  t: Test,
  {
    url,
    databaseUrl,
    last,
    lastNumber,
  }: { url: string; databaseUrl: string; last: string; lastNumber: number },
): Promise<void> {
  const { cursor } = await eventsAfter(url);
  for (let round = 0; (await numberOf(databaseUrl)) <= lastNumber; round++)
    await writeSome(t, url, `again-${round}`);
  t.ok((await eventsAfter(url, cursor)).events.length > 0);
  t.match(
    await eventsAfter(url, last),
    { status: 410, code: 'CURSOR_GONE' },
    'although its number is in use',
  );
}

/** The last number that an event of a database got. */
async function numberOf(databaseUrl: string): Promise<number> {
  const sql = openSql(databaseUrl, { max: 1 });
  const [row] = await sql`select last_value::integer as number from events_seq_seq`;
  await sql.end();
  return Number(row!.number);
}

t.test('pg_dump of a service under writes, restored elsewhere', { skip: missingPrograms() }, async (t) => {
  const cluster = await debianCluster(t);
  await cluster.start();
  const databaseUrl = await cluster.createDatabase('plinth');
  const first = await startService(t, databaseUrl);
  const receivers = await startReceivers(t, first.url);
  await writeSome(t, first.url, 'first');
  const before = (await eventsAfter(first.url)).cursor;

  const writers = startWriters(first.url, 'during');
  await untilAtLeast('there are writes', () => writers.done(), ENOUGH / 2);
  const file = join(cluster.folder, 'plinth.dump');
  const commit = await changeItem(t, first.url, databaseUrl);
  const later = writers.done();
  await untilAtLeast('there are events after the open one', () => writers.done(), later + CLIENTS);
  const rows = await dumpSnapshot(cluster, databaseUrl, file);
  await commit();
  const now = writers.done();
  await untilAtLeast('writes go on', () => writers.done(), now + ENOUGH);
  await writers.stop();
  t.same(writers.failed, []);
  const all = await eventsAfter(first.url);
  await allDelivered(receivers, all.events);
  const lastNumber = await numberOf(databaseUrl);
  await stopService(t, first);
  const sent = [receivers.eager.length, receivers.reluctant.length] as const;

  const restoredUrl = await cluster.createDatabase('restored');
  await cluster.run('pg_restore', ['--exit-on-error', '--no-owner', `--dbname=${restoredUrl}`, file]);
  t.same(await rowsOf(restoredUrl), rows, 'every row is as it was in the snapshot');
  await endLeases(restoredUrl);
  const second = await startService(t, restoredUrl);
  await checkRecords(t, restoredUrl, second, rows);
  const restored = (await eventsAfter(second.url)).events;
  const { known, lost } = divide(all.events, restored);
  t.not(
    lost.length,
    notBefore(restored, lost).length,
    'one that committed during the backup is among the lost',
  );
  t.same(restored, known, 'the feed is a part of what it was, in the same order');
  await checkCursors(t, second.url, { before, last: all.cursor, lost: notBefore(restored, lost) });
  await checkWebhooks(t, receivers, restored, sent);
  const reused = { url: second.url, databaseUrl: restoredUrl, last: all.cursor, lastNumber };
  await checkReusedNumbers(t, reused);
  await stopService(t, second);
});

/** Changes an item in a transaction that ends when the result is called: its event is in no backup until then. */
async function changeItem(t: Test, url: string, databaseUrl: string): Promise<() => Promise<void>> {
  const { json } = await send(url, 'POST', '/items', { body: { name: 'changed during the backup' } });
  const sql = sqlOf(t, databaseUrl);
  const connection = await sql.reserve();
  await connection`begin`;
  await connection`
    update items set version = version + 1, doc = replace(doc, '"_version":1', '"_version":2') where id = ${json.id}`;
  return async () => {
    await connection`commit`;
    connection.release();
  };
}

/** Runs pg_dump on a snapshot of which the rows are read too. */
async function dumpSnapshot(
  cluster: DebianCluster,
  url: string,
  file: string,
): Promise<Map<string, string[]>> {
  const sql = openSql(url, { max: 1 });
  try {
    return await sql.begin('isolation level repeatable read', async (tx) => {
      const [row] = await tx`select pg_export_snapshot() as snapshot`;
      const snapshot = String(row!.snapshot);
      await cluster.run('pg_dump', ['--format=custom', `--snapshot=${snapshot}`, `--file=${file}`, url]);
      return await rowsOf(url, snapshot);
    });
  } finally {
    await sql.end();
  }
}

t.test(
  'pgBackRest: a backup under writes, and recovery to a moment after it',
  { skip: missingPrograms('pgbackrest') },
  async (t) => {
    const cluster = await debianCluster(t);
    const { pgbackrest, settings } = await configureBackups(cluster);
    await cluster.start(settings);
    await pgbackrest('stanza-create');
    const databaseUrl = await cluster.createDatabase('plinth');
    const first = await startService(t, databaseUrl);
    const receivers = await startReceivers(t, first.url);
    const writers = startWriters(first.url, 'during');
    await untilAtLeast('there are writes', () => writers.done(), ENOUGH / 2);
    await pgbackrest('--type=full', 'backup');
    const before = (await eventsAfter(first.url)).cursor;
    const now = writers.done();
    await untilAtLeast('writes go on', () => writers.done(), now + ENOUGH);
    await writers.stop();
    t.same(writers.failed, []);

    const atMoment = await eventsAfter(first.url);
    const { moment, rows } = await momentOf(databaseUrl);
    await writeSome(t, first.url, 'later');
    const all = await eventsAfter(first.url);
    await allDelivered(receivers, all.events);
    const lastNumber = await numberOf(databaseUrl);
    await cluster.stop();
    const sent = [receivers.eager.length, receivers.reluctant.length] as const;

    await pgbackrest('--delta', '--type=time', `--target=${moment}`, '--target-action=promote', 'restore');
    await cluster.start(settings);
    for (const name of ['users', 'items', 'posts'])
      t.same((await rowsOf(databaseUrl)).get(name), rows.get(name), `${name} are as they were at the moment`);
    await until(
      'the service that was not stopped recovers',
      async () => {
        const { status } = await send(first.url, 'GET', '/readyz');
        return status;
      },
      (seen) => seen === 200,
    );
    t.match(
      await eventsAfter(first.url, all.cursor),
      { status: 410 },
      'also for a service that was not stopped',
    );
    first.child.kill('SIGTERM');
    t.equal(await first.ended, 0);
    await endLeases(databaseUrl);
    const second = await startService(t, databaseUrl);
    await checkRecords(t, databaseUrl, second, rows);
    const restored = (await eventsAfter(second.url)).events;
    t.same(restored, atMoment.events, 'the feed is as it was at the moment');
    const lost = all.events.slice(restored.length);
    await checkCursors(t, second.url, { before, last: all.cursor, lost });
    await checkWebhooks(t, receivers, restored, sent);
    await checkReusedNumbers(t, { url: second.url, databaseUrl, last: all.cursor, lastNumber });
    await stopService(t, second);
  },
);

/** The settings of PostgreSQL that archive its log, and the command. */
async function configureBackups({ folder, data, socket, port, user, run }: DebianCluster) {
  const file = join(folder, 'pgbackrest.conf');
  const global = ['repo1-path', 'log-path', 'lock-path', 'spool-path'].map(
    (name) => `${name}=${join(folder, 'pgbackrest', name)}`,
  );
  const lines = [
    ...['[global]', ...global, 'start-fast=y', 'log-level-file=off'],
    // A cluster has a thousand files.
    'repo1-bundle=y',
    'compress-type=none',
    ...['[plinth]', `pg1-path=${data}`, `pg1-port=${port}`, `pg1-socket-path=${socket}`, `pg1-user=${user}`],
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  const options = [`--config=${file}`, '--stanza=plinth'];
  const push = ['pgbackrest', ...options, 'archive-push', '"%p"'].join(' ');
  return {
    pgbackrest: (...args: string[]) => run('pgbackrest', [...options, ...args]),
    settings: ['archive_mode=on', `archive_command=${push}`],
  };
}

/** The present moment, and what is stored at it. */
async function momentOf(url: string): Promise<{ moment: string; rows: Map<string, string[]> }> {
  const rows = await rowsOf(url);
  const sql = openSql(url, { max: 1 });
  const [row] = await sql`select clock_timestamp()::text as moment`;
  await sql.end();
  return { moment: String(row!.moment), rows };
}
