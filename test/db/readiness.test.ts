import { connect } from '../../src/db/db.js';
import { startMaintenance } from '../../src/db/maintenance.js';
import { createLog } from '../../src/telemetry/log.js';
import { freshService, RETENTION, testDatabase } from '../support/service.js';
import { openSql, sqlOf } from '../support/sql.js';
import t from '../support/test.js';
import { until } from '../support/until.js';

t.test('a service whose role has no connection left for searches or transactions is not ready', async (t) => {
  const url = await testDatabase(t, true);
  const sql = sqlOf(t, url);
  const role = `limited_${process.pid}`;
  const database = new URL(url).pathname.slice(1);
  await sql.unsafe(`
    create role ${role} login password 'x';
    create extension pg_trgm;
    grant all on schema public to ${role};
    grant create on database ${database} to ${role}`);
  t.teardown(() => sql.unsafe(`drop owned by ${role} cascade; drop role ${role}`));
  const limited = new URL(url);
  [limited.username, limited.password] = [role, 'x'];
  const { send } = await freshService(t, { DATABASE_URL: String(limited), MIGRATE: 'auto' });
  t.equal((await send('GET', '/users')).status, 200);
  await sql.unsafe(`alter role ${role} connection limit 1`);
  t.equal((await send('GET', '/items?filter[price][gte]=1')).status, 503, 'a search needs a new connection');
  t.match(await send('GET', '/readyz'), { status: 503 });
  t.equal((await send('GET', '/healthz')).status, 200);
  await sql.unsafe(`alter role ${role} connection limit -1`);
  await until('it is ready again', async () => (await send('GET', '/readyz')).status === 200);
});

t.test('maintenance that the end of the service interrupts is not logged', async (t) => {
  const url = await testDatabase(t);
  const [locking, looking] = [openSql(url, { max: 1 }), openSql(url, { max: 1 })];
  t.teardown(() => Promise.all([locking.end(), looking.end()]));
  const db = connect(url, {
    ...{ dbConnections: 2, dbSearches: 1, dbStreams: 1, queue: 100, dbTimeoutMs: 60_000 },
    ...{ events: true, tombstones: false },
  });
  const lines: string[] = [];
  const log = createLog('info', { write: (line) => lines.push(line) });
  let unlock = () => undefined as unknown;
  const locked = new Promise<void>((resolve) => {
    void locking.begin(async (sql) => {
      await sql`lock table events_floor in access exclusive mode`;
      await new Promise((release) => {
        unlock = () => release(undefined);
        resolve();
      });
    });
  });
  await locked;
  const stop = startMaintenance({ db, schema: 'public_collections' }, log, RETENTION);
  const waiting = () => looking`
    select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  try {
    await until('maintenance waits for the lock', async () => (await waiting()).length > 0);
    stop();
    for (const { pid } of await waiting()) await looking`select pg_terminate_backend(${pid})`;
  } finally {
    unlock();
    await db.close();
  }
  t.same(lines, []);
});
