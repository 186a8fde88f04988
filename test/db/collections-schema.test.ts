import { migrate } from '../../src/db/migrate.js';
import { collectionsSchemaOf } from '../../src/db/object-names.js';
import { quotedName } from '../../src/db/statements.js';
import { declare } from '../support/collections.js';
import { freshService, testDatabase } from '../support/service.js';
import { SCHEMA, sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';

const TIMEOUT_MS = 10_000;
const text = { type: 'string' };

async function emptyDatabase(t: Test) {
  const url = await testDatabase(t, true);
  const sql = sqlOf(t, url);
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

t.test('a service leaves the triggers of invitations of another schema as they are', async (t) => {
  const { url, sql } = await emptyDatabase(t);
  await sql.unsafe('create schema shop; create schema yard; create extension pg_trgm');
  const userId = { ...text, 'x-references': 'users', 'x-on-delete': 'cascade' };
  const inviting = { type: 'object', properties: { userId }, 'x-collection': { invite: true } };
  const env = { AUTH: 'api-key', MAIL: 'log', PUBLIC_URL: 'https://api.example.org', MIGRATE: 'auto' };
  const start = (schema: string, files: object) =>
    freshService(t, { ...env, DATABASE_URL: inSchema(url, schema), COLLECTIONS: declare(t, { ...files }) });
  const triggers = async () => {
    const rows = await sql`
      select tgrelid::regclass::text || ' ' || tgname as name from pg_trigger
      where tgname in ('plinth_superseded', 'plinth_moved')`;
    return rows.map(({ name }) => name).sort();
  };
  const ofShop = ['shop_collections.members plinth_moved', 'shop_collections.members plinth_superseded'];
  await start('shop', { 'members.json': inviting });
  t.same(await triggers(), ofShop);
  await start('yard', { 'members.json': { ...inviting, 'x-collection': {} } });
  t.same(await triggers(), ofShop);
  await sql`drop trigger plinth_superseded on shop_collections.members`;
  await start('shop', { 'members.json': inviting });
  t.same(await triggers(), ofShop, 'one that an earlier version removed is back');
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

t.test('the message for a role without schemas has the statement for an operator', async (t) => {
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
  t.match(await sql`select count(*)::integer as n from migrations `, [{ n: 0 }]);
  await sql.unsafe(`drop schema ${SCHEMA}`);
  await sql.unsafe(statement);
  t.equal(await attempt(), undefined);
  const { send } = await freshService(t, { DATABASE_URL: String(limited), MIGRATE: 'auto' });
  t.equal((await send('POST', '/items', { body: { name: 'a pen' } })).status, 201);
});
