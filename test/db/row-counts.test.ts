import type postgres from 'postgres';
import { fill } from '../../bench/harness/data.js';
import { POSTGRESQL } from '../../src/database-url/engine.js';
import { splitSql } from '../../src/db/core-statements.js';
import { connect } from '../../src/db/db.js';
import { BUCKET_ROWS, compact, uncompacted } from '../../src/db/row-counts.js';
import { fill as fillText } from '../../src/db/statements.js';
import { items } from '../support/collections.js';
import { pageStatement, planOf } from '../support/list-statement.js';
import { freshService, testDatabase } from '../support/service.js';
import { openSql, SCHEMA, sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';

/** Compares, in one snapshot, the total and pages found by blocks with what counting every record gives. */
async function compare(t: Test, sql: postgres.Sql): Promise<number> {
  return sql.begin('isolation level repeatable read', async (tx) => {
    const all = await tx`select id, doc from items order by id`;
    for (const direction of ['asc', 'desc'] as const) {
      const docs = (direction === 'asc' ? all : all.toReversed()).map(({ doc }) => doc);
      for (let n = 0; n < 6; n++) {
        const offset = Math.floor((n * (docs.length + 7)) / 5);
        // A page far behind the first is counted.
        const { text } = pageStatement(items, `page=1000&order=${direction}`);
        const rows = await tx.unsafe(text, [7, offset], { prepare: true });
        const found = rows[0]!.docs ?? '';
        const wanted = docs.slice(offset, offset + 7).join('\x1e');
        const total = Number(rows[0]!.total);
        if (total !== docs.length || found !== wanted)
          t.same([total, found], [docs.length, wanted], `${direction} ${offset}`);
      }
    }
    return all.length;
  }) as Promise<number>;
}

/** Records with moments all over the list, in one statement; more than 300 are counted by bucket. */
const INSERT = `insert into items (id, updated_at, name, doc)
  select overlay(gen_random_uuid()::text placing
    overlay(lpad(to_hex(1700000000000 + (random() * 200000)::bigint), 12, '0') placing '-' from 9 for 0) from 1 for 13)::uuid,
    now(), 'bulk', '{"n":' || n || '}'
  from generate_series(1, $1::integer) n`;

t.test('totals and deep pages are exact while many write and the deltas are added up', async (t) => {
  const databaseUrl = await testDatabase(t);
  await fill(databaseUrl, 0, 2000);
  const { send, db } = await freshService(t, { DATABASE_URL: databaseUrl });
  const sql = sqlOf(t, databaseUrl, { max: 8 });
  let isWriting = true;
  const works = [
    () => compare(t, sql),
    () => compact(db, SCHEMA, 'items', 4),
    () => compact(db, SCHEMA, 'items', 30),
  ];
  const times = works.map(() => 0);
  const background = works.map(async (work, at) => {
    for (; isWriting; times[at]!++) await work();
  });
  const client = async (): Promise<void> => {
    for (let n = 0; n < 15; n++) {
      const { json } = await send('POST', '/items', { body: { name: `n${n}` } });
      if (n % 3 === 0) await send('DELETE', `/items/${json.id}`);
    }
  };
  const bulk = async (rows: number): Promise<void> => {
    for (let n = 0; n < 8; n++) {
      await sql.unsafe(INSERT, [rows]);
      const rollback = sql.begin(async (tx) => {
        await tx.unsafe(INSERT, [rows]);
        await tx`delete from items where random() < 0.5`;
        throw new Error('back');
      });
      await rollback.catch(() => undefined);
      await sql`delete from items where random() < 0.1`;
    }
  };
  // The writers go on until each work has run three times beside them.
  for (let round = 0; round === 0 || (round < 20 && times.some((each) => each < 3)); round++)
    await Promise.all([client(), client(), client(), bulk(3), bulk(40), bulk(500)]);
  isWriting = false;
  await Promise.all(background);
  for (const each of times) t.ok(each >= 3, `${each} times`);
  while (await compact(db, SCHEMA, 'items', 4));
  const left = await compare(t, sql);
  const [row] =
    await sql`select total::int, cardinality(starts) as blocks, (select count(*)::int from counts) as deltas from blocks where collection = 'items'`;
  t.equal(row!.total, left);
  t.equal(row!.deltas, 0, 'everything is added up');
  // How many records are left is random: a block has at most twice the square root of their number.
  const largest = 2 * Math.max(4, Math.round(Math.sqrt(left)));
  t.ok(row!.blocks * largest >= left, `${row!.blocks} blocks for ${left} records`);
});

t.test('blocks grow with a list, and go with it', async (t) => {
  const databaseUrl = await testDatabase(t);
  await fill(databaseUrl, 0, 30_000);
  const { send, db } = await freshService(t, { DATABASE_URL: databaseUrl });
  const sql = sqlOf(t, databaseUrl);
  const blocks = async () => {
    const [row] =
      await sql`select total::int, cardinality(starts) as starts, before from blocks where collection = 'items'`;
    return row!;
  };
  t.same(await uncompacted(db.run), ['items'], 'one statement, and much to add up');
  await compact(db, SCHEMA, 'items');
  t.same(await uncompacted(db.run), []);
  const { total, starts, before } = await blocks();
  t.equal(total, 30_000);
  t.ok(starts >= 28 && starts <= 59, `${starts} blocks of 512 to 1024`);
  const sorted = before.toSorted((a: string, b: string) => Number(a) - Number(b));
  t.same(before, sorted);
  const { json } = await send('GET', '/items?page=1000&limit=20&order=asc&sort=created_at');
  t.match(json.data[0].name, / 19981$/);
  t.equal((await send('GET', '/items?page=1500')).json.data.length, 20);
  t.match((await send('GET', '/items?page=1500')).json.data[19].name, / 1$/);
  t.same((await send('GET', '/items?page=1501')).json.data, []);
  t.equal((await send('GET', `/items?page=${Number.MAX_SAFE_INTEGER}&limit=100`)).json.meta.total, 30_000);
  await sql`delete from items where name not like '% 1_'`;
  await compact(db, SCHEMA, 'items');
  const few = await blocks();
  t.same([few.total, few.starts], [10, 1]);
});

t.test('what one run leaves to cut is reported, and the next goes on', async (t) => {
  const databaseUrl = await testDatabase(t);
  const connections = { dbConnections: 1, dbSearches: 1, dbStreams: 1, queue: 10, dbTimeoutMs: 10_000 };
  const db = connect(databaseUrl, { ...connections, tombstones: false, events: false });
  const sql = openSql(databaseUrl, { max: 1, onnotice: () => undefined });
  t.teardown(() => Promise.all([db.close(), sql.end()]));
  await sql.unsafe(INSERT, [2000]);
  while (await compact(db, SCHEMA, 'items', 4));
  await sql.unsafe(INSERT, [20_000]);
  t.equal(await compact(db, SCHEMA, 'items', 4, 0), true, 'every block has become too large');
  while (await compact(db, SCHEMA, 'items', 4));
  const [largest] = await sql`
    select max(next - passed)::int as records
    from (
      select passed, lead(passed, 1, total) over (order by start) as next
      from blocks, unnest(starts, before) as block (start, passed)
      where collection = 'items'
    ) as block`;
  t.ok(largest!.records <= 2 * Math.sqrt(22_000), `at most ${largest!.records} records`);
  t.equal(await compare(t, sql), 22_000);
});

t.test('a cut reads so many records, however many there are', async (t) => {
  const databaseUrl = await testDatabase(t);
  const sql = sqlOf(t, databaseUrl);
  await sql.unsafe(INSERT.replace('$1::integer', '60000'));
  await sql`
    insert into blocks (collection, total, starts, before) values ('items', 60000, '{0}', '{0}')
    on conflict (collection) do update set total = 60000, starts = '{0}', before = '{0}'`;
  await sql`delete from counts`;
  // As the service has it.
  await sql`set plan_cache_mode = 'force_generic_plan'`;
  await sql`set enable_seqscan = off`;
  await sql`set max_parallel_workers_per_gather = 0`;
  const split = fillText(splitSql(POSTGRESQL), { table: 'items' });
  await sql.unsafe(`prepare cut (text, bigint) as ${split}`);
  const statement = { text: `execute cut ('items', ${BUCKET_ROWS})`, args: [] };
  const nodes = await planOf(sql, statement, 'analyze, timing off, format json');
  const scans = nodes.filter((node) => node['Relation Name'] === 'items');
  t.same(
    scans.map((node) => node['Actual Rows']),
    [50_000],
  );
});
