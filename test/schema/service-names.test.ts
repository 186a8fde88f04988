import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { ownPathsOf } from '../../src/config/config.js';
import { serviceTables } from '../../src/db/migrate.js';
import { checkDeclarations, isNameAvailable } from '../../src/declarations/check-declarations.js';
import { readDeclarations } from '../../src/declarations/read-declarations.js';
import { migrateCollections, planCollections } from '../../src/schema/migrate-collections.js';
import { LOOPBACK, makeWebhook, testTarget } from '../features/webhooks/target.js';
import { declare } from '../support/collections.js';
import { freshService, type TestService, undeclaredDatabase } from '../support/service.js';
import { readSettings } from '../support/settings.js';
import { SCHEMA, sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';
import { until } from '../support/until.js';
import { words } from '../support/words.js';

const OWN_PATHS = ownPathsOf(readSettings({}));
const text = { type: 'string' };
const RECORD = {
  type: 'object',
  properties: { label: { ...text, maxLength: 50, 'x-index': true, 'x-search': true } },
};

/** The database of a service, and what its own tables are. */
async function database(t: Test) {
  const url = await undeclaredDatabase(t);
  const sql = sqlOf(t, url);
  const own = async () => [
    ...(await sql`
      select relname, relkind, array(
        select attname || ' ' || atttypid::regtype from pg_attribute where attrelid = class.oid and attnum > 0 order by attnum
      ) as columns, array(
        select tgname from pg_trigger where tgrelid = class.oid and not tgisinternal order by 1
      ) as triggers
      from pg_class as class where relnamespace = 'public'::regnamespace order by 1`),
  ];
  return { url, sql, own };
}

const NAMES = serviceTables();

t.test('a name is available unless it is a path, or a word that PostgreSQL reserves', async (t) => {
  const { sql } = await database(t);
  const rows = await sql<{ name: string }[]>`
    select relname as name from pg_class where relnamespace = 'public'::regnamespace
    union select typname from pg_type where typnamespace = 'public'::regnamespace
    union select proname from pg_proc where pronamespace = 'public'::regnamespace`;
  const names = rows.map(({ name }) => name).filter((name) => /^[a-z][a-z0-9_]{0,39}$/.test(name));
  t.ok(names.length > 100, `${names.length} names`);
  t.same(
    names.filter((name) => !isNameAvailable(name, OWN_PATHS)).sort(),
    names.filter((name) => OWN_PATHS.has(name)).sort(),
  );
});

/** Creates a record, reads it in each way, changes it and deletes it. */
async function works(t: Test, { send }: TestService, name: string): Promise<void> {
  const path = `/${name}`;
  const created = await send('POST', path, { body: { label: 'a first one' } });
  t.equal(created.status, 201, name);
  const other = await send('POST', path, { body: { label: 'another' } });
  const id = String(created.json.id);
  const total = async (query: string) => (await send('GET', `${path}?page=1${query}`)).json.meta?.total;
  t.equal(await total(''), 2, name);
  t.equal(await total('&search=first'), 1, name);
  t.equal(await total('&filter[label]=another'), 1, name);
  t.equal((await send('GET', `${path}?page=1&sort=label`)).json.data[0].id, id, name);
  t.equal((await send('PATCH', `${path}/${id}`, { body: { label: 'changed' } })).json._version, 2, name);
  t.equal((await send('DELETE', `${path}/${other.json.id}`)).status, 204, name);
  t.equal((await send('GET', path)).json.length, 1, name);
}

t.test('a collection can have the name of each table of the service, which stays as it was', async (t) => {
  const { url, sql, own } = await database(t);
  const names = NAMES.filter((name) => isNameAvailable(name, OWN_PATHS));
  for (const name of words('deliveries taken user_scopes idempotency_keys event_tickets migrations'))
    t.ok(names.includes(name), name);
  const before = await own();
  const folder = declare(t, Object.fromEntries(names.map((name) => [`${name}.json`, RECORD])));
  checkDeclarations({ ...readDeclarations(folder), ownPaths: OWN_PATHS });
  const env = { DATABASE_URL: url, COLLECTIONS: folder, MIGRATE: 'auto', TOMBSTONES: 'on', ...LOOPBACK };
  const service = await freshService(t, env);
  t.same(await own(), before, 'the tables of the service');
  const target = await testTarget(t);
  await makeWebhook(service, target.url);
  for (const name of names) await works(t, service, name);
  await until('all deliveries have arrived', () => target.received.length >= 4 * names.length);
  t.same(
    new Set(target.received.map(({ headers, body }) => headers['webhook-id'] && JSON.parse(body).type)),
    new Set(names.flatMap((name) => ['created', 'updated', 'deleted'].map((change) => `${name}.${change}`))),
  );
  const [row] = await sql`select count(*)::integer as n from public.deliveries`;
  t.equal(row!.n, 4 * names.length, 'each delivery is in the table of the service');
  await service.stop();

  for (const name of names) rmSync(join(folder, `${name}.json`));
  const rest = readDeclarations(folder);
  const { drops } = await planCollections(url, rest);
  t.same(
    drops.map(({ title, sql }) => [title, sql.filter((each) => each.startsWith('drop'))]).sort(),
    names.map((name) => [`Remove the collection ${name}`, [`drop table ${SCHEMA}.${name} cascade`]]).sort(),
  );
  await migrateCollections(url, rest, { allowDrop: true });
  t.same(await own(), before, 'the tables of the service, after the removal');
  t.match(
    await sql`select count(*)::integer as n from public.deliveries`,
    [{ n: 0 }],
    'they are removed with it',
  );
  const after = await freshService(t, { DATABASE_URL: url, COLLECTIONS: folder, ...LOOPBACK });
  t.equal((await after.send('GET', '/webhooks')).status, 200);
  t.equal((await after.send('GET', '/deliveries')).status, 404);
});
