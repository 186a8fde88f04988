import { connect, type Db } from '../../../src/db/db.js';
import { testDatabase } from '../../support/service.js';
import t, { type Test } from '../../support/test.js';
import { until } from '../../support/until.js';

const READ_ONLY = '?options=-c%20default_transaction_read_only%3Don';
const PID = 'select pg_backend_pid()::text as pid';

function open(t: Test, url: string): Db {
  const db = connect(url, {
    dbConnections: 1,
    dbSearches: 1,
    dbStreams: 1,
    queue: 100,
    dbTimeoutMs: 60_000,
    tombstones: false,
    events: false,
  });
  t.teardown(() => db.close());
  return db;
}

t.test('a write that a read-only server refuses ends no read on its connection', async (t) => {
  const db = open(t, `${await testDatabase(t)}${READ_ONLY}`);
  const [before] = await db.run(PID, []);
  const [write, read] = await Promise.allSettled([db.run('create table t ()', []), db.run(PID, [])]);
  t.match(write, { status: 'rejected', reason: { code: '25006' } });
  t.match(read, { status: 'fulfilled', value: [before] });
  const [after] = await db.run(PID, []);
  t.not(after!.pid, before!.pid, 'further statements use another connection');
  await t.rejects(
    db.transaction((run) => run('create table t ()', [])),
    { code: '25006' },
  );
});

t.test('listeners remain while a server is read-only, and are renewed when one accepts writes', async (t) => {
  for (const suffix of [READ_ONLY, '']) {
    const db = open(t, `${await testDatabase(t)}${suffix}`);
    let opened = 0;
    let lost = 0;
    db.listen('a', {
      onMessage: () => undefined,
      onOpen: () => opened++,
      onLost: () => lost++,
    });
    await until('it listens', () => opened === 1);
    const [before] = await db.run(PID, []);
    db.noteReadOnly();
    t.equal(lost, 0);
    t.not((await db.run(PID, []))[0]!.pid, before!.pid);
    if (suffix === '') await until('it listens anew', () => opened === 2);
    t.equal(lost, suffix === '' ? 1 : 0);
    t.match(
      await db.run(
        `select application_name as name from pg_stat_activity
        where datname = current_database() and application_name = 'plinth listen'`,
        [],
      ),
      [{ name: 'plinth listen' }],
    );
  }
});

t.test('the name that an operator chooses is that of sessions without a name of their own', async (t) => {
  const db = open(t, `${await testDatabase(t)}?application_name=shop`);
  const name = `select current_setting('application_name') as name`;
  t.same(await db.run(name, []), [{ name: 'shop' }]);
  let isOpen = false;
  db.listen('a', {
    onMessage: () => undefined,
    onOpen: () => {
      isOpen = true;
    },
    onLost: () => undefined,
  });
  await until('it listens', () => isOpen);
  t.match(
    await db.run(
      `select application_name from pg_stat_activity where datname = current_database()
      and application_name = 'plinth listen'`,
      [],
    ),
    [{}],
  );
});
