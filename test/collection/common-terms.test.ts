import postgres from 'postgres';
import t from 'tap';
import { fill } from '../../bench/harness/data.js';
import { items } from '../../src/collection/resources/items.js';
import { compileStatements } from '../../src/collection/sql-templates.js';
import { testDatabase, testService } from '../support/service.js';

/** Of 1,100 items: in all names, in every tenth, at one end of the list, in none. */
const TOTALS = { zirconium: 1100, lamp: 110, obsidian: 68, zzz: 0 };

t.test('a page of a common term is the same by both statements, wherever its matches are', async (t) => {
  const databaseUrl = await testDatabase(t);
  await fill(databaseUrl, 0, 1100);
  const sql = postgres(databaseUrl, { max: 1 });
  t.teardown(() => sql.end());
  const statements = compileStatements(items);
  for (const sort of ['created_at', 'name', 'price'])
    for (const order of ['asc', 'desc'])
      for (const [term, total] of Object.entries(TOTALS))
        for (const [limit, offset] of [
          [20, 0],
          [20, 40],
          [60, 0],
          [7, 45],
          [100, 100],
        ] as const) {
          const page = (name: string) =>
            sql.unsafe(statements.get(`${name}:${sort}:${order}`)!, [limit, offset, `%${term}%`]);
          const [found] = await page('page_matching');
          t.equal(Number(found!.total), total);
          t.same(
            [...(await page('page_matching_common'))],
            [found],
            `${term} by ${sort} ${order}: ${limit} from ${offset} on`,
          );
        }
});

t.test('a term that many records match has another statement from the second time on', async (t) => {
  const databaseUrl = await testDatabase(t);
  await fill(databaseUrl, 0, 1100);
  const { send } = await testService(t, { DATABASE_URL: databaseUrl });
  const sql = postgres(databaseUrl, { max: 1 });
  t.teardown(() => sql.end());
  await sql`
    insert into items (id, updated_at, name, doc)
    select gen_random_uuid(), now(), 'Bulk', '{"n":' || n || '}' from generate_series(1, 30000) as n`;
  /** Whether a connection of the service has executed the other statement last. */
  const used = async (): Promise<boolean> => {
    const [row] = await sql`
      select count(*)::int as many from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and query like '%near as materialized%'`;
    return row!.many > 0;
  };
  const page = async (term: string, number = 1) =>
    (await send('GET', `/items?search=${term}&page=${number}&limit=20`)).json;
  const first = await page('bulk');
  t.equal(first.meta.total, 30_000);
  t.notOk(await used());
  t.same(await page('bulk'), first);
  t.ok(await used());
  t.equal((await page('bulk', 2)).data.length, 20);
  await page('obsidian');
  await page('obsidian');
  t.notOk(await used(), 'one that few match has not');

  // It may become rarer.
  await sql`delete from items where id in (select id from items where name = 'Bulk' limit 29000)`;
  t.equal((await page('bulk')).meta.total, 1000);
  t.ok(await used());
  t.equal((await page('bulk')).meta.total, 1000);
  t.notOk(await used());
});
