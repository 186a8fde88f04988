import { readConfig } from '../../../src/config/config.js';
import { migrate } from '../../../src/db/migrate.js';
import { openDatabase } from '../../../src/db/open-database.js';
import { createLog } from '../../../src/telemetry/log.js';
import { testDatabase, testService } from '../../support/service.js';
import { sqlOf } from '../../support/sql.js';
import t from '../../support/test.js';

const start = (url: string, engine: string) =>
  openDatabase(readConfig({ DATABASE_URL: url, DATABASE_ENGINE: engine }), createLog('silent'));

t.test('a distributed database is not used as one PostgreSQL', async (t) => {
  const url = await testDatabase(t);
  await t.rejects(start(url, 'postgresql'), { message: /set DATABASE_ENGINE=citus/ });
});

t.test('a database without the extension, or with records, is not distributed', async (t) => {
  const empty = await testDatabase(t, true);
  await t.rejects(start(empty, 'citus'), { message: /extension citus/ });
  await migrate(empty, 10_000);
  const { send } = await testService(t, { DATABASE_URL: empty, DATABASE_ENGINE: 'postgresql' });
  t.equal((await send('POST', '/items', { body: { name: 'one' } })).status, 201);
  const sql = sqlOf(t, empty);
  await sql`create extension citus`;
  await t.rejects(start(empty, 'citus'), { message: /only a new database can be distributed/ });
});
