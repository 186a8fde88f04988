import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import postgres from 'postgres';
import { EmbeddedError } from '../../../src/features/embedded/cluster.js';
import {
  type Embedded,
  type EmbeddedOptions,
  joinEmbedded,
  startEmbedded,
} from '../../../src/features/embedded/embedded.js';
import { fastFolder } from '../../support/fast-folder.js';
import { copyCluster } from '../../support/migrated-folder.js';
import { pause } from '../../support/pause.js';
import {
  dataFolder,
  isAlive,
  type ServiceProcess,
  serverPid,
  serverUrl,
  startNode,
} from '../../support/process.js';
import t, { type Test } from '../../support/test.js';
import { until, untilLength } from '../../support/until.js';

// The properties of a cluster must not depend on the user that started it.
delete process.env.LANG;
process.env.LC_ALL = 'C';

t.jobs = 4;
const SETTINGS = ['fsync=off', 'full_page_writes=off', 'synchronous_commit=off'];
const MODULE = new URL('../../../src/features/embedded/embedded.js', import.meta.url).href;

/** The cluster of the runner with one row more, which is copied for every test. */
const seedFolder = await mkdtemp(join(fastFolder(), 'plinth-seed-'));
await copyCluster(seedFolder);
const seed = await startEmbedded({ dataDir: seedFolder, settings: SETTINGS });
await query(seed.url, `create table seeded (text text); insert into seeded values ('caf\u00e9')`);
// Without the databases that other tests copy, so that each copy of the folder is small.
const copied = `select datname from pg_database where datname like 'plinth%'`;
for (const { datname } of await query(seed.url, copied)) await query(seed.url, `drop database ${datname}`);
await seed.stop();
t.teardown(() => rm(seedFolder, { recursive: true, force: true }));

async function seededFolder(t: Test): Promise<string> {
  const folder = await dataFolder(t);
  await promisify(execFile)('cp', ['-a', join(seedFolder, 'postgres'), folder]);
  return folder;
}

async function start(t: Test, dataDir: string, more: Partial<EmbeddedOptions> = {}): Promise<Embedded> {
  const embedded = await startEmbedded({ dataDir, settings: SETTINGS, ...more });
  t.teardown(() => embedded.stop());
  return embedded;
}

async function query(url: string, text: string): Promise<postgres.RowList<postgres.Row[]>> {
  // The driver reads the types of a database in a promise of its own, which no code awaits when the server ends meanwhile.
  const sql = postgres(url, { max: 1, connect_timeout: 60, fetch_types: false, onnotice: () => undefined });
  try {
    return await sql.unsafe(text);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

async function isIntact(t: Test, url: string): Promise<void> {
  const rows = [...(await query(url, 'select text from seeded'))];
  t.strictSame(rows, [{ text: 'caf\u00e9' }], 'the data is still there');
}

/** Refused with an EmbeddedError of one line. */
async function isRefused(t: Test, dataDir: string, message: RegExp, settings = SETTINGS): Promise<void> {
  const error = await startEmbedded({ dataDir, settings }).then(
    async (embedded) => {
      await embedded.stop();
      return undefined;
    },
    (error: Error) => error,
  );
  t.ok(error instanceof EmbeddedError, 'an EmbeddedError');
  t.equal((error as EmbeddedError).exitCode, 69);
  t.match(error?.message, message);
  t.notMatch(error?.message, /\n/, 'one line');
}

t.test('a new cluster is UTF-8, whatever the environment and whatever lies beside it', async (t) => {
  const folder = await dataFolder(t);
  await mkdir(join(folder, '.init-broken/postgres'), { recursive: true });
  await writeFile(join(folder, '.init-broken/postgres/PG_VERSION'), '18\n');
  const { url } = await start(t, folder);
  const [row] = await query(
    url,
    `select current_setting('server_encoding') as encoding, lower('\u00c9') as low, upper('\u00e9') as up,
      '"\\u00e9"'::jsonb #>> '{}' as json, 'caf\u00e9' as text, length('\u{1f600}') as length,
      current_setting('listen_addresses') as listens, current_setting('unix_socket_directories') as sockets,
      current_setting('TimeZone') as zone`,
  );
  t.strictSame(row, {
    ...{ encoding: 'UTF8', low: '\u00e9', up: '\u00c9', json: '\u00e9', text: 'caf\u00e9', length: 1 },
    ...{ listens: '127.0.0.1', sockets: '.', zone: 'UTC' },
  });
  t.equal((await stat(join(folder, 'postgres/plinth.password'))).mode & 0o077, 0, 'the password is our own');
  const wrong = query(url.replace(/:[^:@]*@/, ':wrong@'), 'select 1');
  await t.rejects(wrong, { code: '28P01' }, 'and is required');
  const left = (await readdir(folder)).sort();
  t.strictSame(left, ['.init-broken', 'claim', 'postgres'], 'nothing else is left beside');
});

t.test('sessions that are open do not keep it from stopping', async (t) => {
  const embedded = await startEmbedded({ dataDir: await seededFolder(t), settings: SETTINGS });
  const sql = postgres(embedded.url, { max: 1, fetch_types: false });
  await sql`select 1`;
  const asleep = sql`select pg_sleep(600)`.catch((error: { code: string }) => error.code);
  const sleeping = `select from pg_stat_activity where wait_event = 'PgSleep'`;
  await untilLength('the statement runs', () => query(embedded.url, sleeping), 1);
  await embedded.stop();
  t.match(await asleep, /^(57P01|CONNECTION_CLOSED)$/);
  await sql.end({ timeout: 0 });
});

t.test('a server stops when the commands that have joined it have ended', async (t) => {
  const dataDir = await seededFolder(t);
  const first = await joinEmbedded({ dataDir, settings: SETTINGS });
  const second = await joinEmbedded({ dataDir, settings: SETTINGS });
  let isStopped = false;
  const stopped = first.stop().then(() => {
    isStopped = true;
  });
  const waiting = 'select from pg_locks where not granted';
  await until('the stop waits for the second', async () => (await query(first.url, waiting)).length, 1);
  const third = joinEmbedded({ dataDir, settings: SETTINGS });
  await query(first.url, 'create table confirmed as select 1 as n');
  t.notOk(isStopped);
  await second.stop();
  await stopped;
  const last = await third;
  t.same([...(await query(last.url, 'select n from confirmed'))], [{ n: 1 }], 'the next one starts its own');
  await last.stop();
});

t.test(
  'one of several starts at once gets a cluster, and owns it by whatever path it is named',
  async (t) => {
    const folder = await seededFolder(t);
    const starts = Array.from({ length: 3 }, () => startEmbedded({ dataDir: folder, settings: SETTINGS }));
    const outcomes = await Promise.allSettled(starts);
    const [owner, ...others] = outcomes.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    t.teardown(() => owner!.stop());
    t.same(others, []);
    for (const each of outcomes)
      if (each.status === 'rejected') t.match(each.reason, { message: /DATA_DIR is in use/ });
    const pid = serverPid(folder);
    const link = `${folder}-link`;
    await symlink(folder, link);
    t.teardown(() => rm(link));
    await isRefused(t, link, /DATA_DIR is in use/);
    t.equal(serverPid(folder), pid);
    await isIntact(t, owner!.url);
  },
);

t.test('the owner holds on to the cluster when all sessions are lost', async (t) => {
  const folder = await seededFolder(t);
  const { url } = await start(t, folder);
  const pid = serverPid(folder);
  const checkpointer = () =>
    query(url, `select pid from pg_stat_activity where backend_type = 'checkpointer'`).then(
      ([row]) => row?.pid as number | undefined,
      () => undefined,
    );
  const first = (await checkpointer())!;
  process.kill(first, 'SIGKILL');
  await until('the server has ended its sessions', checkpointer, (now) => now !== undefined && now !== first);
  await isRefused(t, folder, /DATA_DIR is in use/);
  t.equal(serverPid(folder), pid, 'it was the same server all the time');
  await isIntact(t, url);
});

/** A process that owns the cluster of a folder until it is killed. It throws on SIGUSR2. */
async function owned(t: Test, folder: string): Promise<ServiceProcess> {
  const text = `import { startEmbedded } from '${MODULE}';
    await startEmbedded({ dataDir: '${folder}' });
    process.once('SIGUSR2', () => { throw new Error('a defect'); });
    process.stdout.write('ready');
    setInterval(() => {}, 1000);`;
  const owner = startNode(t, ['--input-type=module', '-e', text], {});
  await until('the server runs', owner.stdout, 'ready');
  return owner;
}

t.test('a server that a killed service left is replaced, never joined by a second one', async (t) => {
  const folder = await seededFolder(t);
  const service = await owned(t, folder);
  const orphan = serverPid(folder)!;
  service.child.kill('SIGKILL');
  t.equal(await service.ended, 'SIGKILL');
  t.ok(isAlive(orphan), 'it outlives its service');
  const { url } = await start(t, folder);
  t.notOk(isAlive(orphan));
  t.not(serverPid(folder), orphan);
  await isIntact(t, url);
});

t.test('what a killed server still works on is waited for', async (t) => {
  const folder = await seededFolder(t);
  const service = await owned(t, folder);
  const sql = postgres(await serverUrl(folder), { max: 1, fetch_types: false });
  const [row] = await sql`select pg_backend_pid() as pid`;
  const backend = row?.pid as number;
  t.teardown(() => isAlive(backend) && process.kill(backend, 'SIGKILL'));
  // Works until there is a file, and, unlike a session that sleeps, also without its server.
  const busy =
    sql`do 'begin loop exit when (pg_stat_file(''global/enough'', true)).size is not null; end loop; end'`.catch(
      () => undefined,
    );
  const active = `select from pg_stat_activity where pid = ${backend} and state = 'active'`;
  await untilLength('the statement runs', async () => query(await serverUrl(folder), active), 1);
  const server = serverPid(folder)!;
  service.child.kill('SIGKILL');
  await service.ended;
  process.kill(server, 'SIGKILL');
  await until('the server has ended', () => !isAlive(server));
  t.ok(isAlive(backend), 'one of its sessions goes on');
  const starting = start(t, folder);
  // In which the start usually finds the session.
  await pause(300);
  t.ok(isAlive(backend));
  await writeFile(join(folder, 'postgres/global/enough'), '');
  const { url } = await starting;
  t.notOk(isAlive(backend), 'and is over before another server runs');
  await isIntact(t, url);
  await busy;
  await sql.end({ timeout: 0 });
});

t.test('a stale postmaster.pid does not keep it from starting', async (t) => {
  const folder = await seededFolder(t);
  const cluster = join(folder, 'postgres');
  const owner = await stat(cluster);
  const dead = spawn(process.execPath, ['-e', '']);
  await once(dead, 'exit');
  // A process whose command line names the cluster, and which is no server of it.
  const bystander = startNode(t, ['-e', 'setInterval(() => {}, 1000)', cluster], {});
  const whole = (pid: number) =>
    [pid, cluster, 1_700_000_000, 1, '', '127.0.0.1', ' 1 1', 'ready', ''].join('\n');
  const contents: [string, string][] = [
    ['of zeros, after a loss of power', '\0'.repeat(60)],
    ['a number that no process has', '99999999999\n'],
    ['cut after the number', String(process.pid)],
    ['that of a process that has ended', whole(dead.pid!)],
    ['the second process, on Linux one without a command line', whole(2)],
    ['a process that names the folder', whole(bystander.child.pid!)],
  ];
  for (const [says, content] of contents) {
    await writeFile(join(cluster, 'postmaster.pid'), content, { mode: 0o600 });
    await chown(join(cluster, 'postmaster.pid'), owner.uid, owner.gid);
    const embedded = await startEmbedded({ dataDir: folder, settings: SETTINGS });
    await isIntact(t, embedded.url);
    await embedded.stop();
    t.pass(says);
  }
  t.equal(bystander.child.exitCode, null, 'nobody else was ended');
});

t.test('a server that is killed is started again on its port, and the service is notified', async (t) => {
  const folder = await seededFolder(t);
  const reported: [string, boolean][] = [];
  const { url } = await start(t, folder, { onCrash: (...args) => void reported.push(args) });
  for (const times of [1, 2]) {
    const pid = serverPid(folder)!;
    process.kill(pid, 'SIGKILL');
    await untilLength('the service is notified', () => reported, times);
    t.strictSame(reported[times - 1]?.[1], true);
    t.match(reported[times - 1]?.[0], /^the embedded PostgreSQL ended and was started again/);
    t.not(serverPid(folder), pid);
    await isIntact(t, url);
  }
  await isRefused(t, folder, /DATA_DIR is in use/);
});

t.test('a server that cannot be started again is reported, and started when it can be', async (t) => {
  const folder = await seededFolder(t);
  const reported: [string, boolean][] = [];
  const { url } = await start(t, folder, { onCrash: (...args) => void reported.push(args) });
  const [here, away] = ['pg_control', 'pg_control.away'].map((name) => join(folder, 'postgres/global', name));
  await rename(here!, away!);
  process.kill(serverPid(folder)!, 'SIGKILL');
  await untilLength('the service is notified', () => reported, 1);
  t.equal(reported[0]?.[1], false);
  t.match(reported[0]?.[0], /^the embedded PostgreSQL ended and cannot be started: .*pg_control/);
  t.notMatch(reported[0]?.[0], /\n/);
  await rename(away!, here!);
  await until('it is started when it can be', () => reported.at(-1)?.[1]);
  t.equal(reported.length, 2, 'each reason is reported once');
  await isIntact(t, url);
});

t.test('a stop while it is being started again leaves no server', async (t) => {
  const folder = await seededFolder(t);
  const embedded = await startEmbedded({ dataDir: folder, settings: SETTINGS });
  const pid = serverPid(folder)!;
  process.kill(pid, 'SIGKILL');
  const next = await until('another is being started', () => {
    const now = serverPid(folder);
    return now === pid ? undefined : now;
  });
  await embedded.stop();
  t.notOk(isAlive(next));
});

t.test('a process that ends by an error takes the server with it', async (t) => {
  const folder = await seededFolder(t);
  const owner = await owned(t, folder);
  const pid = serverPid(folder)!;
  owner.child.kill('SIGUSR2');
  t.equal(await owner.ended, 1);
  await until('the server ends', () => !isAlive(pid));
  t.equal(serverPid(folder), undefined, 'in order');
});

t.test('it works below a folder that only root can pass', { skip: process.getuid?.() !== 0 }, async (t) => {
  const above = await dataFolder(t);
  await chmod(above, 0o700);
  const folder = join(above, 'data');
  const first = await startEmbedded({ dataDir: folder, settings: SETTINGS });
  await query(first.url, 'create table made (id integer)');
  const pid = Number((await query(first.url, 'select pg_backend_pid() as pid'))[0]?.pid);
  t.ok(pid > 0);
  t.not((await stat(join(folder, 'postgres'))).uid, 0, 'the server is not root');
  await isRefused(t, folder, /DATA_DIR is in use/);
  await first.stop();
  const second = await startEmbedded({ dataDir: folder, settings: SETTINGS });
  t.strictSame([...(await query(second.url, 'select * from made'))], []);
  await second.stop();
});

t.test('a folder that cannot be written is refused', async (t) => {
  const folder = await dataFolder(t);
  const file = join(folder, 'file');
  await writeFile(file, '');
  for (const dataDir of [file, join(file, 'data'), '/dev/null/data', '/proc/plinth'])
    await isRefused(t, dataDir, /^DATA_DIR \S+ cannot be written: .+; set DATA_DIR to a folder /);
});

t.test('a folder that holds something else is refused and left alone', async (t) => {
  const folder = await dataFolder(t);
  await mkdir(join(folder, 'postgres'));
  await writeFile(join(folder, 'postgres/letters'), 'mine');
  await isRefused(t, folder, /cannot be used: .*ENOTEMPTY/);
  t.strictSame(await readdir(join(folder, 'postgres')), ['letters']);
  await writeFile(join(folder, 'postgres/PG_VERSION'), '18\n');
  await isRefused(t, folder, /has no plinth\.password/);
});

t.test('a cluster of another major version is refused with the way, and left as it is', async (t) => {
  const folder = await seededFolder(t);
  const file = join(folder, 'postgres/PG_VERSION');
  const major = Number(await readFile(file, 'utf8'));
  for (const other of [major - 1, major + 1]) {
    await writeFile(file, `${other}\n`);
    const version = `postgres is a database of PostgreSQL ${other}, which another version .*`;
    await isRefused(t, folder, new RegExp(`${version}: start that version, and move .* docs/backup\\.md`));
  }
  await writeFile(file, `${major}\n`);
  const { url } = await start(t, folder);
  await isIntact(t, url);
});

t.test('a setting that PostgreSQL does not know is reported in one line', async (t) => {
  await isRefused(t, await seededFolder(t), /did not start: .*no_such_setting/, ['no_such_setting=1']);
});
