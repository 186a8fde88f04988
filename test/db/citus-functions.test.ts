import type postgres from 'postgres';
import { CITUS } from '../../src/database-url/engine.js';
import { migrationsOn, SCHEMA_NAMES, withSchemaNames } from '../../src/db/migrations.js';
import { listSql } from '../../src/db/sql-files.js';
import { CITUS_STUBS } from '../support/citus.js';
import { declare } from '../support/collections.js';
import { declared } from '../support/declared.js';
import { freshService, testDatabase } from '../support/service.js';
import { openSql, SCHEMA, sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';

/*
 * The functions of sql/features/citus in one PostgreSQL, where what Citus does is left out: distributed tables are local ones. It shows
 * that the functions find their tables; test/features/citus shows the rest on a cluster.
 */

const MIGRATIONS =
  'create table migrations (name text primary key, checksum text not null, applied_at timestamptz default now())';

/** Notes each command that creates, with the setting by which Citus repeats it on the other nodes. */
const NOTES = `
  create table noted (tag text, object text, is_repeated boolean);
  create function note_commands() returns event_trigger language plpgsql as $$
  begin
    insert into public.noted
    select command_tag, object_identity, coalesce(current_setting('citus.enable_ddl_propagation', true), '') <> 'off'
    from pg_event_trigger_ddl_commands();
  end $$;
  create event trigger note_commands on ddl_command_end execute function note_commands()`;

/** The migrations of Citus, with the names that the program puts into their texts. */
async function migrationsFor(sql: postgres.Sql) {
  const [names] = await sql.unsafe(SCHEMA_NAMES, [SCHEMA]);
  return migrationsOn(CITUS).map((each) => ({ ...each, text: withSchemaNames(each.text, names as never) }));
}

async function database(t: Test): Promise<string> {
  const url = await testDatabase(t, true);
  const sql = sqlOf(t, url, { connection: { search_path: 'public' } });
  await sql.unsafe(CITUS_STUBS);
  await sql.unsafe(MIGRATIONS);
  for (const { name, text, checksum } of await migrationsFor(sql)) {
    await sql.begin((tx) => tx.unsafe(text));
    await sql`insert into migrations values (${name}, ${checksum})`;
  }
  await sql.end();
  return url;
}

t.test('the migrations of Citus create functions on the coordinator, and tables on all nodes', async (t) => {
  const url = await testDatabase(t, true);
  const sql = openSql(url, { max: 1, connection: { search_path: 'public' } });
  await sql.unsafe(CITUS_STUBS);
  await sql.unsafe(MIGRATIONS);
  await sql.unsafe(NOTES);
  const own = new Set(listSql().map((file) => file.replace('citus/migrations/', '')));
  for (const { name, text } of await migrationsFor(sql)) {
    await sql`truncate noted`;
    await sql.begin((tx) => tx.unsafe(text));
    if (!own.has(name)) continue;
    const commands = await sql`select * from noted`;
    t.ok(commands.length > 0, name);
    for (const { tag, object, is_repeated } of commands)
      t.equal(is_repeated, !/^CREATE (FUNCTION|TYPE)$/.test(tag), `${name}: ${tag} ${object}`);
  }
});

t.test('each function finds the tables of collections', async (t) => {
  const url = await database(t);
  const text = { type: 'string', maxLength: 100 };
  const to = (collection: string, action: string) => ({
    ...text,
    'x-references': collection,
    'x-on-delete': action,
  });
  const folder = declare(t, {
    'users.json': {},
    'deliveries.json': {
      type: 'object',
      properties: {
        code: { ...text, 'x-unique': true },
        label: { ...text, 'x-index': true, 'x-search': true },
      },
    },
    'taken.json': declared(
      { deliveryId: to('deliveries', 'cascade'), other: to('deliveries', 'null') },
      { nested: 'deliveryId' },
      { required: ['deliveryId'] },
    ),
  });
  const env = { DATABASE_URL: url, DATABASE_ENGINE: 'citus', COLLECTIONS: folder, MIGRATE: 'auto' };
  const { send } = await freshService(t, { ...env, TOMBSTONES: 'on' });
  const post = async (path: string, body: object) => {
    const { status, json } = await send('POST', path, { body });
    t.equal(status, 201, `${path} ${JSON.stringify(json)}`);
    return String(json.id);
  };
  const first = await post('/deliveries', { code: 'a', label: 'a first one' });
  const second = await post('/deliveries', { code: 'b', label: 'another' });
  t.equal((await send('POST', '/deliveries', { body: { code: 'a' } })).status, 409);
  const child = await post('/taken', { deliveryId: first, other: second });
  await post('/taken', { deliveryId: second });
  for (const query of ['', '&sort=label', '&search=first', '&search=f', '&filter[label][gte]=a', '2'])
    t.equal((await send('GET', `/deliveries?limit=1&page=1${query}`)).status, 200, query);
  t.equal((await send('GET', `/deliveries/${first}/taken?page=1`)).json.meta.total, 1);
  t.match((await send('GET', '/deliveries?page=1&include=taken.deliveryId')).status, /200|400/);
  t.equal((await send('GET', '/taken?page=1&filter[other][code]=b')).json.meta.total, 1);
  for (const query of ['sort=other.label', 'sort=-other.code&filter[other][code]=b'])
    t.match(
      await send('GET', `/api/v2/taken?${query}`),
      { status: 400, json: { code: 'INVALID_QUERY', detail: /not possible on Citus/ } },
      query,
    );
  for (const condition of ['filter[deliveryId][null]=false', 'filter[other][code]=b'])
    t.equal((await send('GET', `/events?types=taken.*&${condition}`)).status, 200, condition);
  t.equal((await send('GET', '/deliveries')).json.length, 2);
  t.equal((await send('PATCH', `/deliveries/${first}`, { body: { label: 'changed' } })).status, 200);
  t.equal((await send('PATCH', `/taken/${child}`, { body: { deliveryId: second } })).status, 200);
  t.equal((await send('DELETE', `/deliveries/${first}`)).status, 204);
  t.equal((await send('DELETE', `/deliveries/${second}`)).status, 204);
  t.equal((await send('GET', '/taken?page=1')).json.meta.total, 0, 'the children are deleted');
  const user = await post('/users', {
    name: 'Ann',
    email: 'ann@example.org',
    password: 'correct horse battery',
  });
  t.equal((await send('DELETE', `/users/${user}`)).status, 204);

  const sql = sqlOf(t, url);
  const rows =
    await sql`select relname from pg_class where relnamespace = ${SCHEMA}::regnamespace and relkind = 'r' order by 1`;
  t.same(
    rows.map(({ relname }) => relname),
    ['deliveries', 'items', 'posts', 'taken', 'users'],
  );
  t.same(await sql`select * from passwords`, [], 'what belongs to a user is deleted with it');
});
