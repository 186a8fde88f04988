import { createHash } from 'node:crypto';
import type postgres from 'postgres';
import { migrate } from '../../src/db/migrate.js';
import { migrationsOn, newestMigration, SCHEMA_NAMES, withSchemaNames } from '../../src/db/migrations.js';
import { REPLACED } from '../../src/db/replaced-migrations.js';
import { catalogOf, rowsOf } from '../support/catalog.js';
import { CITUS_STUBS } from '../support/citus.js';
import { applyFormer, formerMigrations } from '../support/former-migrations.js';
import { testDatabase } from '../support/service.js';
import { openSql, SCHEMA } from '../support/sql.js';
import t, { type Test } from '../support/test.js';

const TIMEOUT_MS = 10_000;
const BUILT_IN = ['users', 'items', 'posts'];

const former = formerMigrations('migrations');
const skip =
  former === undefined && 'the history of this clone does not have the migrations that the baseline replaces';

async function emptyDatabase(t: Test): Promise<{ url: string; sql: postgres.Sql }> {
  const url = await testDatabase(t, true);
  // The names of collections stay qualified in what the catalog prints.
  const sql = openSql(url, { max: 1, onnotice: () => undefined, connection: { search_path: 'public' } });
  t.teardown(() => sql.end());
  return { url, sql };
}

/** A database that the version before the baseline has made. */
async function formerDatabase(t: Test) {
  const database = await emptyDatabase(t);
  await applyFormer(database.sql, former!);
  return database;
}

const recorded = async (sql: postgres.Sql): Promise<Record<string, string>> =>
  Object.fromEntries(
    (await sql`select name, checksum from migrations`).map((row) => [row.name, row.checksum]),
  );

t.test('the checksums of the replaced migrations are those of their files', { skip }, (t) => {
  const all = formerMigrations(...Object.keys(REPLACED))!;
  t.equal(all.length, 46);
  for (const { name, folder, text } of all)
    t.equal(createHash('sha256').update(text).digest('hex'), REPLACED[folder]![name], name);
  t.end();
});

t.test('the baseline makes what the replaced migrations made', { skip }, async (t) => {
  const [now, before] = [await emptyDatabase(t), await formerDatabase(t)];
  for (const { url } of [now, before]) await migrate(url, TIMEOUT_MS);
  const [made, expected] = [await catalogOf(now.sql), await catalogOf(before.sql)];
  t.ok(Object.keys(expected).length > 500);
  t.same(made, expected);
  t.same(await rowsOf(now.sql), await rowsOf(before.sql));
});

t.test(
  'on a database of the version before, the baseline is recorded, and its records stay',
  { skip },
  async (t) => {
    const [now, before] = [await emptyDatabase(t), await formerDatabase(t)];
    await before.sql`insert into imports (key, collection) values ('a', 'items')`;
    const rows = await rowsOf(before.sql);
    for (const { url } of [now, before]) await migrate(url, TIMEOUT_MS);
    t.same(await catalogOf(before.sql), await catalogOf(now.sql));
    const after = await rowsOf(before.sql);
    for (const [table, content] of Object.entries(rows)) t.same(after[table], content, table);
    const [events] = await before.sql`select prosrc from pg_proc where proname = 'posts_note_events'`;
    t.match(events!.prosrc, /changed\.user_id, changed\.id/, 'the events of posts have their owner');
    t.same(
      await recorded(before.sql),
      await recorded(now.sql),
      'both record all, so that both versions start',
    );
    t.ok(newestMigration() in (await recorded(now.sql)));
  },
);

t.test(
  'a database that lacks one of the replaced migrations is refused, and stays as it was',
  { skip },
  async (t) => {
    const { url, sql } = await emptyDatabase(t);
    await applyFormer(sql, former!.slice(0, 30));
    const [catalog, before] = [await catalogOf(sql), await recorded(sql)];
    const { name } = former![30]!;
    await t.rejects(migrate(url, TIMEOUT_MS), {
      message: new RegExp(
        `^this database was made by an earlier version, and lacks its migration ${name}, .*start the last version that has this file first, then this one \\(docs/deployment\\.md#upgrades\\)`,
      ),
    });
    t.same(await catalogOf(sql), catalog);
    t.same(await recorded(sql), before);
  },
);

t.test('a replaced migration with another text is refused', { skip }, async (t) => {
  const { url, sql } = await formerDatabase(t);
  await sql`update migrations set checksum = 'another' where name = '0060_collections_only.sql'`;
  await t.rejects(migrate(url, TIMEOUT_MS), {
    message: /lacks its migration 0060_collections_only\.sql, or has another text/,
  });
});

t.test('the baseline of Citus makes what the replaced migrations made', { skip }, async (t) => {
  const [now, before] = [await emptyDatabase(t), await emptyDatabase(t)];
  for (const { sql } of [now, before]) await sql.unsafe(CITUS_STUBS);
  await applyFormer(before.sql, formerMigrations('migrations', 'citus/migrations')!);
  // The replaced migrations left these functions, whose triggers are gone.
  for (const name of BUILT_IN) await before.sql.unsafe(`drop function ${name}_note_events`);
  await now.sql`create table migrations (
    name text primary key, checksum text not null, applied_at timestamptz not null default now())`;
  const [names] = await now.sql.unsafe(SCHEMA_NAMES, [SCHEMA]);
  for (const { text, replaced } of migrationsOn('citus'))
    if (Object.keys(replaced).length > 0)
      await now.sql.begin((tx) => tx.unsafe(withSchemaNames(text, names as never)));
  t.same(await catalogOf(now.sql), await catalogOf(before.sql));
  t.same(await rowsOf(now.sql), await rowsOf(before.sql));
});
