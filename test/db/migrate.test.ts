import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type postgres from 'postgres';
import { CITUS, type Engine, POSTGRESQL } from '../../src/database-url/engine.js';
import { DatabaseError, isMigrated, migrate } from '../../src/db/migrate.js';
import { CORRECTED, inOrder, migrationsOn } from '../../src/db/migrations.js';
import { SQL_DIR } from '../../src/db/sql-files.js';
import { valuesOf } from '../support/callers.js';
import { claimPort } from '../support/claimed-port.js';
import { SERVER_URL, testDatabase } from '../support/service.js';
import { SCHEMA, sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';

const TIMEOUT_MS = 10_000;
const FILES = migrationsOn(POSTGRESQL).map(({ name }) => name);
/** The files of the core and of the features, by their names. */
const PATHS = new Map(
  readdirSync(SQL_DIR, { recursive: true, encoding: 'utf8' })
    .filter(
      (path) => /(^|^features\/[\w-]+\/)migrations\/\d+_\w+\.sql$/.test(path) && !path.startsWith('citus'),
    )
    .map((path) => [path.split('/').at(-1)!, path]),
);
/** The files with their checksums, after the rows that older programs refuse. */
const EXPECTED = [
  { name: '0000_oldest_program', checksum: '0.1.0' },
  { name: '0001_counts.sql', checksum: 'replaced by 0200_plinth_records.sql' },
  ...FILES.map((name) => {
    const text = readFileSync(new URL(PATHS.get(name)!, SQL_DIR));
    const checksum = createHash('sha256').update(text).digest('hex');
    return { name, checksum: CORRECTED[checksum] ?? checksum };
  }),
];

/** An empty database, and a connection to look into it. */
async function emptyDatabase(t: Test): Promise<{ url: string; sql: postgres.Sql }> {
  const url = await testDatabase(t, true);
  const sql = sqlOf(t, url);
  return { url, sql };
}

const recorded = async (sql: postgres.Sql) =>
  [...(await sql`select name, checksum from migrations order by name`)].map((row) => ({ ...row }));

const tables = async (sql: postgres.Sql, schema = 'public') =>
  (await sql`select tablename from pg_tables where schemaname = ${schema} order by 1`).map(
    (row) => row.tablename,
  );

/** Refused with a DatabaseError of one line. */
async function isRefused(t: Test, url: string, message: RegExp, timeoutMs = TIMEOUT_MS): Promise<void> {
  const error = await migrate(url, timeoutMs).catch((error: Error) => error);
  t.ok(error instanceof DatabaseError, 'a DatabaseError');
  t.match((error as Error).message, message);
  t.notMatch((error as Error).message, /\n|^$/, 'one line');
}

t.test('every migration is applied and recorded with its checksum, once', async (t) => {
  const { url, sql } = await emptyDatabase(t);
  await migrate(url, TIMEOUT_MS);
  t.strictSame(await recorded(sql), EXPECTED);
  for (const table of ['counts', 'passwords']) t.ok((await tables(sql)).includes(table));
  t.same(await tables(sql, SCHEMA), ['items', 'posts', 'users']);
  const before = [...(await sql`select * from migrations order by name`)];
  await migrate(url, TIMEOUT_MS);
  t.strictSame([...(await sql`select * from migrations order by name`)], before);
});

t.test('whether there is anything to do is one question', async (t) => {
  const { url, sql } = await emptyDatabase(t);
  const migrated = () => isMigrated(async (text) => [...(await sql.unsafe(text))]);
  t.notOk(await migrated(), 'an empty database');
  await migrate(url, TIMEOUT_MS);
  t.ok(await migrated());
  await sql`insert into migrations (name, checksum) values ('9999_next.sql', 'another')`;
  t.ok(await migrated(), 'that of a newer version');
  await sql`update migrations set checksum = 'another' where name = '0204_plinth_sign_in.sql'`;
  t.notOk(await migrated(), 'one that was changed');
  await sql`delete from migrations where name = '0204_plinth_sign_in.sql'`;
  t.notOk(await migrated(), 'one that is missing');
});

t.test('a start that ended between two files of the baseline is continued', async (t) => {
  const { url, sql } = await emptyDatabase(t);
  await migrate(url, TIMEOUT_MS);
  await sql`delete from migrations where name < '0200' or (name >= '0371' and name < '0373') or (name >= '0205' and name < '03')`;
  await sql`drop table imports, import_ids, plinth_import_references`;
  await sql`drop function plinth_moved, plinth_collection_of`;
  await migrate(url, TIMEOUT_MS);
  t.strictSame(await recorded(sql), EXPECTED);
  t.ok((await tables(sql)).includes('import_ids'));
});

t.test('several at once take turns, and each migration is applied once', async (t) => {
  const { url, sql } = await emptyDatabase(t);
  await Promise.all(Array.from({ length: 6 }, () => migrate(url, TIMEOUT_MS)));
  t.strictSame(await recorded(sql), EXPECTED);
});

t.test('a migration that was changed after it had been applied is refused', async (t) => {
  const { url, sql } = await emptyDatabase(t);
  await migrate(url, TIMEOUT_MS);
  await sql`update migrations set checksum = 'another' where name = '0204_plinth_sign_in.sql'`;
  await isRefused(t, url, /migration 0204_plinth_sign_in\.sql was changed/);
});

t.test('a migration that fails is reported by its name and leaves nothing behind', async (t) => {
  const { url, sql } = await emptyDatabase(t);
  await sql`create table user_scopes (id integer)`;
  await isRefused(
    t,
    url,
    /0204_plinth_sign_in\.sql cannot be applied: relation "user_scopes" already exists/,
  );
  const before = FILES.slice(0, FILES.indexOf('0204_plinth_sign_in.sql'));
  t.strictSame(valuesOf(await recorded(sql), 'name'), before, 'those before it stay');
  t.notOk((await tables(sql)).includes('passwords'), 'its first statements are rolled back');
  await sql`drop table user_scopes`;
  await migrate(url, TIMEOUT_MS);
  t.equal((await recorded(sql)).length, EXPECTED.length);
});

t.test('a database that takes no tables is refused', async (t) => {
  const { url, sql } = await emptyDatabase(t);
  await sql.unsafe(`alter database ${new URL(url).pathname.slice(1)} set default_transaction_read_only = on`);
  await isRefused(t, url, /cannot be brought up to date: .*read-only/);
});

t.test('a database that cannot be reached is refused', async (t) => {
  const port = await claimPort(t);
  await isRefused(t, `postgres://u:p@127.0.0.1:${port}/d`, /cannot be reached: .*ECONNREFUSED/);
  await isRefused(t, `postgres://u:p@localhost:${port}/d`, /cannot be reached: .*ECONNREFUSED/);
  const absent = SERVER_URL.replace(/\/[^/]*$/, '/no_such_database');
  await isRefused(t, absent, /"no_such_database" does not exist: create it, or correct DATABASE_URL/);
  const wrong = SERVER_URL.replace(/:[^:@]*@/, ':wrong@');
  await isRefused(t, wrong, /rejects the login: password authentication failed.* in DATABASE_URL$/);
});

t.test('a database that accepts and then says nothing is given up', async (t) => {
  const silent = createServer((socket) => socket.on('error', () => undefined)).listen(0, '127.0.0.1');
  t.teardown(() => silent.close());
  await once(silent, 'listening');
  const { port } = silent.address() as { port: number };
  const url = `postgres://u:p@127.0.0.1:${port}/d`;
  await isRefused(t, url, /cannot be reached: .*did not open a connection in time/, 500);
});

t.test('a database that is too old is refused before anything is made in it', async (t) => {
  const { url, sql } = await emptyDatabase(t);
  await sql.unsafe(`create schema old`);
  await sql.unsafe(
    `create function old.current_setting(text) returns text language sql as $$ select '140012' $$`,
  );
  const name = new URL(url).pathname.slice(1);
  await sql.unsafe(`alter database ${name} set search_path = old, pg_catalog, public`);
  await isRefused(t, url, /^PostgreSQL 14 is too old: 15 or newer is needed$/);
  t.strictSame(await tables(sql), []);
});

t.test('the migrations of the core, of Citus and of features have one order', (t) => {
  const files = [
    'features/b/b.sql',
    'features/b/migrations/0300_plinth_b.sql',
    'features/a/migrations/0302_plinth_a.sql',
    'migrations/0301_plinth_c.sql',
    'migrations/0200_plinth_records.sql',
    'citus/migrations/0303_plinth_shards.sql',
    'collection/read.sql',
  ];
  const numbers = (engine: Engine) =>
    inOrder(files, engine).map(({ folder, name }) => `${folder.split('/').at(-2) ?? ''} ${name.slice(0, 4)}`);
  t.same(numbers(POSTGRESQL), [' 0200', 'b 0300', ' 0301', 'a 0302']);
  t.same(numbers(CITUS), [' 0200', 'b 0300', ' 0301', 'a 0302', 'citus 0303']);
  const faults: readonly [file: string, message: string][] = [
    [
      'features/c/migrations/0303_plinth_c.sql',
      'features/c/migrations/0303_plinth_c.sql and citus/migrations/0303_plinth_shards.sql have the same number',
    ],
    [
      'features/c/migrations/0299_plinth_c.sql',
      'features/c/migrations/0299_plinth_c.sql: the migrations of features begin with 0300',
    ],
  ];
  for (const [file, message] of faults)
    t.throws(() => inOrder([...files, file], POSTGRESQL), { message }, file);
  t.end();
});
