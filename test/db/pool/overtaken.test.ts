import { connect } from '../../../src/db/db.js';
import { testDatabase } from '../../support/service.js';
import { openSql } from '../../support/sql.js';
import t from '../../support/test.js';
import { until, untilLength } from '../../support/until.js';

const PID = 'select pg_backend_pid()::text as pid';
const CONNECTIONS = 3;

t.test('statements do not wait behind one that waits for a lock', async (t) => {
  const url = await testDatabase(t);
  const pools = { dbConnections: CONNECTIONS, dbSearches: 1, dbStreams: 1, queue: 1000 };
  const db = connect(url, { ...pools, dbTimeoutMs: 20_000, tombstones: false, events: false });
  const other = openSql(url, { max: 1 });
  t.teardown(async () => {
    await other.end();
    await db.close();
  });
  const atOnce = (count: number) => Promise.all(Array.from({ length: count }, () => db.run(PID, [])));
  await until(
    'all connections are open',
    async () => new Set((await atOnce(30)).map(([row]) => row!.pid)).size,
    CONNECTIONS,
  );
  await other`select pg_advisory_lock(1)`;
  const waiting = db.run('select pg_backend_pid()::text as pid, pg_advisory_lock(1)', []);
  await untilLength('it waits', () => other`select pid::text from pg_locks where not granted`, 1);
  const [blocked] = await other`select pid::text from pg_locks where not granted`;
  const used = new Set<unknown>();
  // Few at once, so that the connections have as many statements; then many, which more statements have overtaken.
  for (let round = 0; round < 50; round++) for (const [row] of await atOnce(4)) used.add(row!.pid);
  for (let round = 0; round < 10; round++) for (const [row] of await atOnce(60)) used.add(row!.pid);
  t.notOk(used.has(blocked!.pid));
  t.ok(used.size >= CONNECTIONS - 1, 'the other ones have done it');
  await other`select pg_advisory_unlock(1)`;
  t.match(await waiting, [{ pid: blocked!.pid }]);
});
