import postgres from 'postgres';
import { prepared, preparedRows, type Row, unprepared } from '../../../src/db/pool/prepared.js';
import { testDatabase } from '../../support/service.js';
import t from '../../support/test.js';

const STATEMENT = 'select $1::text as a';

/** The properties of a query that hold an argument. */
function holders(query: object, argument: string): string[] {
  return Object.entries(query)
    .filter(([, value]) => Array.isArray(value) && value.includes(argument))
    .map(([name]) => name);
}

t.test('the query of a finished statement retains neither its arguments nor its rows', async (t) => {
  const driver = postgres(await testDatabase(t), { max: 1 });
  t.teardown(() => driver.end());
  const query = driver.unsafe(STATEMENT, ['b']);
  t.same(await query, [{ a: 'b' }]);
  t.same(holders(query, 'b').sort(), ['args', 'parameters']);

  const released = driver.unsafe(STATEMENT, ['b']);
  const sql = { unsafe: () => released } as unknown as postgres.Sql;
  t.same(await prepared(sql, STATEMENT, ['b']), [{ a: 'b' }]);
  t.same(await released, []);
  t.same(holders(released, 'b'), []);

  const rows: Row[] = [];
  const receive = (row: Row) => rows.push(row);
  const passed = driver.unsafe(STATEMENT, ['b']);
  await preparedRows(receive)({ unsafe: () => passed } as unknown as postgres.Sql, STATEMENT, ['b']);
  t.same(rows, [{ a: 'b' }]);
  t.notOk(Object.values(passed).includes(receive), 'nor the function that receives its rows');
});

t.test('a statement that fails is rejected with the error of the server', async (t) => {
  const driver = postgres(await testDatabase(t), { max: 1 });
  t.teardown(() => driver.end());
  await t.rejects(prepared(driver, 'select $1::int as a', ['b']), { code: '22P02' });
  t.same(await prepared(driver, STATEMENT, ['b']), [{ a: 'b' }]);
});

t.test('a statement that fails behind its first rows leaves those of the next one as they are', async (t) => {
  const driver = postgres(await testDatabase(t), { max: 1 });
  t.teardown(() => driver.end());
  for (const run of [prepared, unprepared]) {
    const failing = run(driver, 'select 1 / (3 - n) as a from generate_series(1, 3) as n where n > $1', [0]);
    const [failed, next] = await Promise.allSettled([failing, run(driver, STATEMENT, ['b'])]);
    t.equal(failed.status, 'rejected');
    t.same(next, { status: 'fulfilled', value: [{ a: 'b' }] });
  }
});

t.test('rows are passed on as they arrive, also of a statement that fails later', async (t) => {
  const driver = postgres(await testDatabase(t), { max: 1 });
  t.teardown(() => driver.end());
  const rows: Row[] = [];
  const run = preparedRows((row) => rows.push(row));
  const failing = 'select n as a from generate_series(1, 3) as n where 1 / (3 - n) >= $1';
  const [failed, next] = await Promise.allSettled([
    run(driver, failing, [0]),
    prepared(driver, STATEMENT, ['b']),
  ]);
  t.match(failed, { status: 'rejected', reason: { code: '22012' } });
  t.same(rows, [{ a: 1 }, { a: 2 }]);
  t.same(next, { status: 'fulfilled', value: [{ a: 'b' }] });
  await run(driver, STATEMENT, ['c']);
  t.same(rows.slice(2), [{ a: 'c' }]);
});
