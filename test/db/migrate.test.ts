import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type postgres from 'postgres';
import { DatabaseError, isMigrated, migrate } from '../../src/db/migrate.js';
import { SQL_DIR } from '../../src/db/sql-files.js';
import { claimPort } from '../support/claimed-port.js';
import { startProcess } from '../support/process.js';
import { SERVER_URL, testDatabase } from '../support/service.js';
import { openSql, SCHEMA } from '../support/sql.js';
import t, { type Test } from '../support/test.js';

const TIMEOUT_MS = 10_000;
const FOLDER = new URL('migrations/', SQL_DIR);
const EXPECTED = readdirSync(FOLDER)
  .sort()
  .map((name) => ({
    name,
    checksum: createHash('sha256')
      .update(readFileSync(new URL(name, FOLDER)))
      .digest('hex'),
  }));

/** An empty database, and a connection to look into it. */
async function emptyDatabase(t: Test): Promise<{ url: string; sql: postgres.Sql }> {
  const url = await testDatabase(t, true);
  const sql = openSql(url, { max: 1, onnotice: () => undefined });
  t.teardown(() => sql.end());
  return { url, sql };
}

const recorded = async (sql: postgres.Sql) =>
  [...(await sql`select name, checksum from migrations order by applied_at, name`)].map((row) => ({
    ...row,
  }));

const tables = async (sql: postgres.Sql, schema = 'public') =>
  (await sql`select tablename from pg_tables where schemaname = ${schema} order by 1`).map(
    (row) => row.tablename,
  );

/** Refused with a DatabaseError of one line. */
async function isRefused(t: Test, url: string, message: RegExp, timeoutMs = TIMEOUT_MS): Promise<void> {
  const error = await migrate(url, timeoutMs).then(
    () => undefined,
    (error: Error) => error,
  );
  t.ok(error instanceof DatabaseError, 'a DatabaseError');
  t.match(error?.message, message);
  t.notMatch(error?.message, /\n|^$/, 'one line');
}

t.test('every migration is applied, in order, and recorded with its checksum', async (t) => {
  const { url, sql } = await emptyDatabase(t);
  await migrate(url, TIMEOUT_MS);
  t.strictSame(await recorded(sql), EXPECTED);
  for (const table of ['counts', 'passwords']) t.ok((await tables(sql)).includes(table));
  t.same(await tables(sql, SCHEMA), ['items', 'posts', 'users']);
});

t.test('running again does nothing', async (t) => {
  const { url, sql } = await emptyDatabase(t);
  await migrate(url, TIMEOUT_MS);
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
  await sql`update migrations set checksum = 'another' where name = '0002_users.sql'`;
  t.notOk(await migrated(), 'one that was changed');
  await sql`delete from migrations where name = '0002_users.sql'`;
  t.notOk(await migrated(), 'one that is missing');
});

t.test('one that is missing is applied, the others are left alone', async (t) => {
  const { url, sql } = await emptyDatabase(t);
  await migrate(url, TIMEOUT_MS);
  await sql`delete from migrations where name = '0009_limits.sql'`;
  await sql`drop table limits`;
  await migrate(url, TIMEOUT_MS);
  t.strictSame(
    (await recorded(sql)).sort((a, b) => (String(a.name) < String(b.name) ? -1 : 1)),
    EXPECTED,
  );
  t.ok((await tables(sql)).includes('limits'));
});

t.test('the column of the former rules number disappears from every collection', async (t) => {
  const { url, sql } = await emptyDatabase(t);
  await migrate(url, TIMEOUT_MS);
  await sql`delete from migrations where name = '0018_patches.sql'`;
  await sql`create function lay_over(fields text, names text[], texts text[]) returns text language sql return fields`;
  await sql`create table notes (id uuid primary key, version integer, updated_at timestamptz, doc text, rules integer)`;
  await sql`create table others (id uuid primary key, rules integer)`;
  await migrate(url, TIMEOUT_MS);
  t.strictSame(
    (
      await sql`select table_name as name from information_schema.columns where column_name = 'rules' order by 1`
    ).map(({ name }) => name),
    ['others'],
  );
});

t.test('tables that were attached by hand get the present triggers instead of their own', async (t) => {
  const { url, sql } = await emptyDatabase(t);
  await migrate(url, TIMEOUT_MS);
  await sql.unsafe(`
    delete from migrations where name = '0019_attach_collection.sql';
    drop function attach_collection;
    create function note_events() returns trigger language plpgsql as 'begin return null; end';
    create table notes (id uuid primary key, version integer, updated_at timestamptz, doc text, user_id uuid);
    create trigger a after insert on notes referencing new table as changed for each statement
      execute function count_inserted();
    create trigger b after insert on notes referencing new table as changed for each statement
      execute function note_events('user_id')`);
  await migrate(url, TIMEOUT_MS);
  const triggers = await sql`select tgname from pg_trigger where tgrelid = 'notes'::regclass order by 1`;
  t.same(
    triggers.map(({ tgname }) => tgname),
    ['created_events', 'deleted', 'deleted_events', 'inserted', 'updated_events'].map(
      (name) => `notes_${name}`,
    ),
  );
  const id = '01900000-0000-7000-8000-000000000000';
  await sql`insert into notes (id, version, user_id) values (${id}, 1, ${id})`;
  t.match([...(await sql`select type, owner from events`)], [{ type: 'notes.created', owner: id }]);
  t.match([...(await sql`select delta::int from counts`)], [{ delta: 1 }]);
});

t.test('stored events and deliveries become the first segment, and numbers go on', async (t) => {
  const { url, sql } = await emptyDatabase(t);
  const before = EXPECTED.filter(({ name }) => name < '0039');
  await sql`create table migrations (name text primary key, checksum text not null, applied_at timestamptz default now())`;
  for (const { name, checksum } of before) {
    await sql.unsafe(readFileSync(new URL(name, FOLDER), 'utf8'));
    await sql`insert into migrations values (${name}, ${checksum})`;
  }
  const owner = '01900000-0000-7000-8000-000000000000';
  await sql`create table notes (id uuid primary key, version integer default 1, updated_at timestamptz, doc text, "user" uuid)`;
  await sql`select attach_collection('notes', 'user')`;
  // The name of its function is cut.
  const long = 'n'.repeat(52);
  await sql.unsafe(
    `create table ${long} (id uuid primary key, version integer default 1, updated_at timestamptz, doc text)`,
  );
  await sql`select attach_collection(${long}::regclass)`;
  await sql`insert into notes (id, "user") select gen_random_uuid(), ${owner} from generate_series(1, 3)`;
  await sql`insert into deliveries (webhook_id, event_id, type, record_key) select ${owner}, n, 'x', 'y' from generate_series(1, 3) as n`;
  await sql`insert into delivery_bodies (event_id, body) values ('1', 'body')`;
  await migrate(url, TIMEOUT_MS);
  await sql`insert into notes (id, "user") values (gen_random_uuid(), ${owner})`;
  const events = await sql`select seq::integer, owner, type, segment from events order by seq`;
  t.same(
    [...events],
    [1, 2, 3, 4].map((seq) => ({ seq, owner, type: 'notes.created', segment: 1 })),
  );
  await sql`insert into deliveries (webhook_id, event_id, type, record_key, segment) values (${owner}, '4', 'x', 'y', 2)`;
  const deliveries = await sql`select id::integer, status, segment from deliveries order by id`;
  t.same(
    [...deliveries],
    [1, 2, 3, 4].map((id) => ({ id, status: 'pending', segment: id === 4 ? 2 : 1 })),
  );
  t.same([...(await sql`select * from delivery_bodies`)], [{ event_id: '1', body: 'body', segment: 1 }]);
  await sql`update event_segment set current = 3`;
  await sql`create table others (like notes including all)`;
  await sql`select attach_collection('others')`;
  for (const table of ['notes', long, 'others'])
    await sql.unsafe(`insert into ${table} (id) values (gen_random_uuid())`);
  t.same(
    [...(await sql`select type from events where segment = 3 order by seq`)].map(({ type }) => type),
    ['notes.created', `${long}.created`, 'others.created'],
  );
  const indexes = await sql`
    select inhparent::regclass::text as name, count(*)::integer as segments
    from pg_inherits join pg_class on pg_class.oid = inhrelid where relkind = 'i' group by 1`;
  t.equal(indexes.length, 7);
  t.same(new Set(indexes.map(({ segments }) => segments)), new Set([3]));
  const constraints = await sql`select conname from pg_constraint where conname = 'is_first_segment'`;
  t.same([...constraints], []);
});

t.test('several at once take turns, and each migration is applied once', async (t) => {
  const { url, sql } = await emptyDatabase(t);
  await Promise.all(Array.from({ length: 6 }, () => migrate(url, TIMEOUT_MS)));
  t.strictSame(await recorded(sql), EXPECTED);
});

t.test('services that start at once on one empty database both respond', async (t) => {
  const { url, sql } = await emptyDatabase(t);
  const services = [0, 1].map(() => startProcess(t, { DATABASE_URL: url }));
  const urls = await Promise.all(services.map((service) => service.ready()));
  for (const base of urls) t.equal((await fetch(`${base}/users`)).status, 200);
  t.strictSame(await recorded(sql), EXPECTED);
});

t.test('a migration that was changed after it had been applied is refused', async (t) => {
  const { url, sql } = await emptyDatabase(t);
  await migrate(url, TIMEOUT_MS);
  await sql`update migrations set checksum = 'another' where name = '0002_users.sql'`;
  await isRefused(t, url, /migration 0002_users\.sql was changed/);
});

t.test('a migration that fails is reported by its name and leaves nothing behind', async (t) => {
  const { url, sql } = await emptyDatabase(t);
  await sql`create table passwords (id integer)`;
  await isRefused(t, url, /migration 0002_users\.sql cannot be applied: relation "passwords" already exists/);
  t.strictSame(await recorded(sql), EXPECTED.slice(0, 1), 'those before it stay');
  t.notOk((await tables(sql)).includes('users'), 'its first statements are rolled back');
  await sql`drop table passwords`;
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
  await isRefused(
    t,
    SERVER_URL.replace(/\/[^/]*$/, '/no_such_database'),
    /"no_such_database" does not exist: create it, or correct DATABASE_URL/,
  );
  await isRefused(
    t,
    SERVER_URL.replace(/:[^:@]*@/, ':wrong@'),
    /rejects the login: password authentication failed/,
  );
});

t.test('a database that accepts and then says nothing is given up', async (t) => {
  const silent = createServer((socket) => socket.on('error', () => undefined)).listen(0, '127.0.0.1');
  t.teardown(() => silent.close());
  await once(silent, 'listening');
  const { port } = silent.address() as { port: number };
  await isRefused(
    t,
    `postgres://u:p@127.0.0.1:${port}/d`,
    /cannot be reached: .*did not open a connection in time/,
    500,
  );
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

t.test(
  'an upgrade shortens the records of strangers, which earlier versions stored for 14 days',
  async (t) => {
    const { url, sql } = await emptyDatabase(t);
    await migrate(url, TIMEOUT_MS);
    const file = readFileSync(new URL('0051_records_of_strangers.sql', FOLDER), 'utf8');
    await sql`drop index issuer_records_strangers`;
    const [user] = await sql`
    insert into users (id, updated_at, doc, email) values (gen_random_uuid(), now(), '{}', 'ann@example.org') returning id`;
    const add = (model: string, minutes: number, owner: string | null) => sql`
    insert into issuer_records (hash, model, payload, user_id, expires_at)
    values (sha256(${`${model}${minutes}${owner}`}::text::bytea), ${model}, ${`${model} ${minutes}`}, ${owner}, now() + ${minutes} * interval '1 minute')`;
    const day = 24 * 60;
    for (const model of ['Session', 'Interaction', 'PushedAuthorizationRequest', 'DeviceCode', 'Grant'])
      for (const minutes of [5, 14 * day]) await add(model, minutes, null);
    await add('Session', 14 * day, user!.id);
    await sql.unsafe(file);
    const late = await sql`
    select payload, user_id is null as stranger from issuer_records
    where expires_at > now() + interval '16 minutes' order by payload`;
    t.same(
      late.map(({ payload, stranger }) => [payload, stranger]),
      [
        ['Grant 20160', true],
        ['Session 20160', false],
      ],
    );
    t.equal(
      (await sql`select from issuer_records where expires_at < now() + interval '6 minutes'`).length,
      5,
    );
  },
);
