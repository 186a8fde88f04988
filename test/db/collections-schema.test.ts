import { createHash } from 'node:crypto';
import { migrationsOn } from '../../src/db/engine.js';
import { migrate } from '../../src/db/migrate.js';
import { collectionsSchemaOf, quotedName } from '../../src/db/object-names.js';
import { readDeclarations } from '../../src/declarations/read-declarations.js';
import { planCollections } from '../../src/schema/migrate-collections.js';
import { declare } from '../support/collections.js';
import { freshService, testDatabase } from '../support/service.js';
import { openSql, SCHEMA } from '../support/sql.js';
import t, { type Test } from '../support/test.js';

const TIMEOUT_MS = 10_000;
const text = { type: 'string' };

async function emptyDatabase(t: Test) {
  const url = await testDatabase(t, true);
  const sql = openSql(url, { max: 1, onnotice: () => undefined });
  t.teardown(() => sql.end());
  return { url, sql };
}

/** The URL of a database with another schema for a service. */
function inSchema(url: string, schema: string): string {
  const other = new URL(url);
  other.search = `search_path=${encodeURIComponent(`${quotedName(schema)}, public`)}`;
  return String(other);
}

t.test('the schema for collections is that of no other service', (t) => {
  t.equal(collectionsSchemaOf('public'), 'public_collections');
  const long = 's'.repeat(60);
  const names = ['a', 'b', `${long}a`, `${long}b`, `${long}_collections`.slice(0, 63)].map(
    collectionsSchemaOf,
  );
  t.equal(new Set(names).size, names.length);
  t.ok(names.every((name) => name.length <= 63));
  t.end();
});

t.test('services in schemas of one database have collections of their own', async (t) => {
  const { url, sql } = await emptyDatabase(t);
  const folder = declare(t, {
    'items.json': {},
    'deliveries.json': { type: 'object', properties: { label: text } },
  });
  const schemas = ['shop', 's'.repeat(63)];
  for (const schema of schemas) await sql.unsafe(`create schema ${quotedName(schema)}`);
  await sql`create extension pg_trgm`;
  for (const schema of schemas) {
    const env = { DATABASE_URL: inSchema(url, schema), COLLECTIONS: folder, MIGRATE: 'auto' };
    const { send } = await freshService(t, env);
    t.same((await send('GET', '/deliveries')).json, [], schema);
    t.equal((await send('POST', '/deliveries', { body: { label: schema } })).status, 201);
    t.equal((await send('POST', '/items', { body: { name: schema } })).status, 201);
    t.equal((await send('GET', '/items?page=1&search=s')).json.meta.total, 1);
  }
  const rows = await sql`
    select nspname from pg_class join pg_namespace on pg_namespace.oid = relnamespace
    where relname = 'items' and relkind = 'r'`;
  t.same(rows.map(({ nspname }) => nspname).sort(), schemas.map(collectionsSchemaOf).sort());
  await t.rejects(
    migrate(inSchema(url, 'shop_collections'), TIMEOUT_MS),
    /the schema shop_collections has the tables of collections of another service: set another search_path/,
  );
  await sql.unsafe(
    'create schema yard; create schema yard_collections; create table yard_collections.pens (n integer)',
  );
  await t.rejects(
    migrate(inSchema(url, 'yard'), TIMEOUT_MS),
    /the schema yard_collections for the tables of collections has tables of another program/,
  );
  t.match(
    await sql`select count(*)::integer as n from pg_class where relnamespace = 'yard_collections'::regnamespace`,
    [{ n: 1 }],
  );
});

t.test(
  'the message for a role that may not create schemas has the statement that an operator must run',
  async (t) => {
    const { url, sql } = await emptyDatabase(t);
    const role = `owner_${process.pid}`;
    await sql.unsafe(`
    create role ${role} login password 'x';
    create extension pg_trgm;
    grant all on schema public to ${role}`);
    t.teardown(() => sql.unsafe(`drop owned by ${role} cascade; drop role ${role}`));
    const limited = new URL(url);
    [limited.username, limited.password] = [role, 'x'];
    const attempt = () => migrate(String(limited), TIMEOUT_MS).catch(({ message }: Error) => message);
    const message = String(await attempt());
    t.match(message, `the role ${role} may not create the schema of the collections`);
    const statement = /`([^`]+)`/.exec(message)?.[1] ?? '';
    t.equal(statement, `create schema ${SCHEMA} authorization ${role}`);
    await sql.unsafe(`create schema ${SCHEMA}`);
    const other = String(await attempt());
    t.equal(/`([^`]+)`/.exec(other)?.[1], `alter schema ${SCHEMA} owner to ${role}`);
    t.match(await sql`select count(*)::integer as n from migrations where name > '0110'`, [{ n: 0 }]);
    await sql.unsafe(`drop schema ${SCHEMA}`);
    await sql.unsafe(statement);
    t.equal(await attempt(), undefined);
    const { send } = await freshService(t, { DATABASE_URL: String(limited), MIGRATE: 'auto' });
    t.equal((await send('POST', '/items', { body: { name: 'a pen' } })).status, 201);
  },
);

/** Objects that versions before 0110 made for a collection whose records refer to each other and to those of another one. */
const FORMER = `
  create table pens (id uuid primary key, version integer not null default 1, updated_at timestamptz not null, doc text not null,
    label text, next_id uuid, ink_id uuid);
  create index pens_label on pens (label collate "C" asc nulls last, id asc);
  select attach_collection('pens');
  create table inks_now (id uuid primary key, version integer not null default 1, updated_at timestamptz not null, doc text not null);
  select attach_collection('inks_now');
  create view inks as select * from inks_now;
  comment on view inks is 'plinth: former name of inks_now';
  alter table pens add constraint pens_ink_id_fkey foreign key (ink_id) references inks_now (id) on delete no action;
  create function pens_ink_id_fkey_null() returns trigger language plpgsql as $$
begin
  update pens as referring
  set ink_id = null, version = referring.version + 1, updated_at = date_trunc('milliseconds', now()),
    doc = without_member(referring.doc, 'inkId', referring.version + 1, date_trunc('milliseconds', now()))
  where referring.ink_id = old.id;
  return old;
end $$;
  create trigger pens_ink_id_fkey_null before delete on inks_now for each row execute function pens_ink_id_fkey_null();
  create table notes (id uuid primary key, label text);
  create table strange (id uuid primary key, version integer, updated_at timestamptz, doc text)`;

t.test(
  'an upgrade moves the tables of collections with their records, and all that belongs to them',
  async (t) => {
    const { url, sql } = await emptyDatabase(t);
    await sql`create table migrations (name text primary key, checksum text not null, applied_at timestamptz default now())`;
    for (const { name, text } of migrationsOn('postgresql').filter(({ name }) => name < '0110')) {
      await sql.unsafe(text);
      const checksum = createHash('sha256').update(text).digest('hex');
      await sql`insert into migrations values (${name}, ${checksum})`;
    }
    await sql.unsafe(FORMER);
    const files = {
      'users.json': {},
      'pens.json': {
        type: 'object',
        properties: { inkId: { ...text, 'x-references': 'inks_now', 'x-on-delete': 'null' } },
      },
      'inks_now.json': { type: 'object', properties: {} },
    };
    const folder = declare(t, files);
    for (const name of ['pens', 'inks_now'] as const)
      await sql`insert into collections values (${name}, ${JSON.stringify(files[`${name}.json`])})`;
    await sql.unsafe(
      'alter table pens drop column label, drop column next_id; create index pens_ink_id on pens (ink_id, id)',
    );
    const [pen, ink] = ['01900000-0000-7000-8000-000000000001', '01900000-0000-7000-8000-000000000002'];
    const document = (id: string, more = '') =>
      `{"id":"${id}",${more}"created_at":"2024-06-10T00:00:00.000Z","updated_at":"2024-06-10T00:00:00.000Z","_version":1}`;
    await sql`insert into inks_now (id, updated_at, doc) values (${ink}, now(), ${document(ink)})`;
    await sql`insert into pens (id, updated_at, doc, ink_id) values (${pen}, now(), ${document(pen, `"inkId":"${ink}",`)}, ${ink})`;

    await migrate(url, TIMEOUT_MS);
    const tables = async (schema: string) =>
      (
        await sql`select relname from pg_class where relnamespace = ${schema}::regnamespace and relkind in ('r', 'v') order by 1`
      ).map(({ relname }) => String(relname));
    t.same(await tables(SCHEMA), ['inks', 'inks_now', 'items', 'pens', 'posts', 'users']);
    const own = await tables('public');
    t.ok(own.includes('notes') && own.includes('strange'), 'tables of others stay');
    t.same(
      (await planCollections(url, readDeclarations(folder))).steps.map(({ title }) => title),
      [],
    );
    const service = await freshService(t, { DATABASE_URL: url, COLLECTIONS: folder });
    t.match((await service.send('GET', `/pens/${pen}`)).json, { inkId: ink, _version: 1 });
    t.equal((await service.send('GET', '/pens?page=1')).json.meta.total, 1);
    t.equal((await service.send('DELETE', `/inks_now/${ink}`)).status, 204);
    const changed = (await service.send('GET', `/pens/${pen}`)).json;
    t.same([changed.inkId, changed._version], [undefined, 2], 'the function of the reference');
    const events = await sql`select type from events order by seq`;
    t.same(
      events.map(({ type }) => type),
      ['inks_now.created', 'pens.created', 'pens.updated', 'inks_now.deleted'],
    );
    t.equal(
      (await service.send('POST', '/users', { body: { name: 'Ann', email: 'ann@example.org' } })).status,
      201,
    );
  },
);
