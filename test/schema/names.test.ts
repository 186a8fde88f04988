import { describeApi } from '../../src/app/open-features.js';
import { ownPathsOf } from '../../src/config/config.js';
import { CITUS } from '../../src/database-url/engine.js';
import { migrationsOn } from '../../src/db/migrations.js';
import { checkDeclarations } from '../../src/declarations/check-declarations.js';
import { DeclarationError, readDeclarations } from '../../src/declarations/read-declarations.js';
import { FEATURES } from '../../src/features.js';
import { migrateCollections, planCollections } from '../../src/schema/migrate-collections.js';
import { declare, INVITING } from '../support/collections.js';
import { migrateTo, titlesFor } from '../support/plans.js';
import { freshService, undeclaredDatabase } from '../support/service.js';
import { ALWAYS_ON, readSettings } from '../support/settings.js';
import { SCHEMA, sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';

const OWN_PATHS = ownPathsOf(readSettings({}));
const text = { type: 'string' };
const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });

async function database(t: Test) {
  const url = await undeclaredDatabase(t);
  const sql = sqlOf(t, url);
  return { url, sql };
}

t.test('a table that no collection made is not attached', async (t) => {
  const { url, sql } = await database(t);
  await sql.unsafe(`
    create table ${SCHEMA}.books (id uuid primary key);
    create view ${SCHEMA}.views as select 1;
    create type ${SCHEMA}.kinds as enum ('a')`);
  const before = await sql`select tgname from pg_trigger order by 1`;
  const rows: [file: string, schema: object, message: RegExp][] = [
    ['books.json', object({ name: text }), /the table books of the database is no collection/],
    ['views.json', object({ name: text }), /the view views of the database/],
    ['items_name.json', object({ name: text }), /the index items_name of the database/],
    ['kinds.json', object({ name: text }), /the type kinds of the database/],
  ];
  for (const [file, schema, message] of rows) {
    const declarations = readDeclarations(declare(t, { [file]: schema }));
    await t.rejects(planCollections(url, declarations), message);
    await t.rejects(migrateCollections(url, declarations, { allowDrop: true }), message);
  }
  const renaming = object({ name: text }, { 'x-collection': { was: 'deliveries' } });
  await migrateCollections(url, readDeclarations(declare(t, { 'parcels.json': renaming })));
  const [former] = await sql`select to_regclass('public.deliveries')::text as name`;
  t.match(former, { name: 'deliveries' }, 'no rename');
  const after = await sql`select tgname from pg_trigger
    where tgrelid <> ${`${SCHEMA}.parcels`}::regclass order by 1`;
  t.same(after, before);
});

t.test('names that the names of others would be do not collide', async (t) => {
  const indexed = { type: 'number', 'x-index': true };
  const flag = { type: 'boolean', 'x-index': true };
  const to = (field: string) => ({ [field]: { ...text, 'x-references': 'targets', 'x-on-delete': 'null' } });
  const folder = declare(t, {
    // Two collections, one index.
    'team.json': object({ memberName: indexed }),
    'team_member.json': object({ name: indexed }),
    // Two fields, one index.
    'shelf.json': object({
      name: indexed,
      nameAsc: flag,
      code: { ...text, 'x-unique': true },
      codeKey: flag,
      title: { ...text, 'x-search': true },
      search: flag,
      pkey: flag,
    }),
    // Two references, one function.
    'targets.json': object({}),
    'a.json': object(to('bC')),
    'a_b.json': object(to('c')),
    // An index and a table of the service; an index and the table of another collection.
    'issuer.json': object({ records: flag }),
    'wall.json': object({ clock: flag }),
    'wall_clock.json': object({ name: text }),
  });
  const { url, sql } = await database(t);
  checkDeclarations({ ...readDeclarations(folder), ownPaths: OWN_PATHS });
  await migrateTo(url, folder);
  t.same(await titlesFor(url, folder), []);
  const { send } = await freshService(t, { DATABASE_URL: url, COLLECTIONS: folder });
  const create = async (path: string, body: object) => (await send('POST', path, { body })).json;
  const target = await create('/targets', {});
  const [first, second] = [await create('/a', { bC: target.id }), await create('/a_b', { c: target.id })];
  t.equal((await send('DELETE', `/targets/${target.id}`)).status, 204);
  t.notOk('bC' in (await send('GET', `/a/${first.id}`)).json);
  t.notOk('c' in (await send('GET', `/a_b/${second.id}`)).json);
  await create('/shelf', { code: 'x' });
  const again = await send('POST', '/shelf', { body: { code: 'x' } });
  t.match([again.status, again.json.error.code], [409, 'DUPLICATE']);
  const indexes = await sql`select indexrelid from pg_index where indrelid = 'shelf'::regclass`;
  t.equal(indexes.length, 10);
});

/** With columns of 40 characters, as many as a name can have, and fields whose names differ at their ends alone. */
const FIELD = 'anUnusuallyLongNameOfAFieldOfIt';
const collection = (letter: string) => `a_collection_with_the_longest_of_names_${letter}`;
const reference = (action: string) => ({ ...text, 'x-references': collection('b'), 'x-on-delete': action });
const LONG = {
  [`${collection('b')}.json`]: object({ name: text }, { title: 'Target' }),
  [`${collection('a')}.json`]: object({
    [`${FIELD}N`]: { type: 'number', 'x-index': true },
    [`${FIELD}B`]: { type: 'boolean', 'x-index': true },
    [`${FIELD}S`]: { ...text, 'x-search': true, 'x-index': true },
    [`${FIELD}U`]: { ...text, 'x-unique': true },
    [`${FIELD}V`]: { ...text, 'x-unique': { code: 'V_TAKEN' } },
    [`${FIELD}H`]: { type: 'array', items: text, 'x-index': true },
    [`${FIELD}R`]: reference('restrict'),
    [`${FIELD}C`]: reference('cascade'),
    [`${FIELD}O`]: reference('null'),
    [`${FIELD}A`]: { type: 'array', maxItems: 9, items: reference('remove') },
  }),
};

async function worksAsDeclared(t: Test, url: string, folder: string): Promise<void> {
  const { send } = await freshService(t, { DATABASE_URL: url, COLLECTIONS: folder });
  const [path, targets] = [`/${collection('a')}`, `/${collection('b')}`];
  const target = async () => (await send('POST', targets, { body: {} })).json.id as string;
  const post = (letter: string, value: unknown) =>
    send('POST', path, { body: { [`${FIELD}${letter}`]: value } });
  const missing = '00000000-0000-7000-8000-000000000000';
  for (const letter of ['R', 'C', 'O'])
    t.match(await post(letter, missing), { status: 422, json: { error: { code: 'TARGET_NOT_FOUND' } } });
  const array = await post('A', [await target(), missing]);
  t.match(array, { status: 422, json: { error: { details: { path: `/${FIELD}A/1` } } } });
  for (const [letter, code] of [
    ['U', 'DUPLICATE'],
    ['V', 'V_TAKEN'],
  ] as const) {
    t.equal((await post(letter, 'x')).status, 201);
    t.match(await post(letter, 'x'), { status: 409, json: { error: { code } } });
  }
  const [restricting, cascading, cleared] = [await target(), await target(), await target()];
  await post('R', restricting);
  const gone = await post('C', cascading);
  const remaining = await post('O', cleared);
  const refused = await send('DELETE', `${targets}/${restricting}`);
  t.match([refused.status, refused.json.error.code], [409, 'REFERENCED']);
  for (const id of [cascading, cleared]) t.equal((await send('DELETE', `${targets}/${id}`)).status, 204);
  t.equal((await send('GET', `${path}/${gone.json.id}`)).status, 404);
  t.notOk(`${FIELD}O` in (await send('GET', `${path}/${remaining.json.id}`)).json);
  await post('N', 2.5);
  t.equal((await send('GET', `${path}?page=1&filter[${FIELD}N][gte]=2`)).json.meta.total, 1);
}

t.test('the longest names with every keyword start twice, and give the right errors', async (t) => {
  const { url } = await database(t);
  const folder = declare(t, LONG);
  checkDeclarations({ ...readDeclarations(folder), ownPaths: OWN_PATHS });
  await migrateTo(url, folder);
  t.same(await titlesFor(url, folder), []);
  await worksAsDeclared(t, url, folder);
});

t.test('a renamed collection with the longest names is in line after one migration', async (t) => {
  const { url, sql } = await database(t);
  const was = 'a_collection_that_was_called_otherwise__';
  const rest = Object.entries(LONG).map(([file, schema]) => [file.replace(collection('a'), was), schema]);
  await migrateCollections(url, readDeclarations(declare(t, Object.fromEntries(rest))));
  const name = `${collection('a')}.json`;
  const renamed = { ...LONG, [name]: { ...LONG[name], 'x-collection': { was } } };
  await migrateTo(url, declare(t, renamed));
  const titles = await titlesFor(url, declare(t, renamed));
  t.equal(titles.length, 2, 'the collection and the links of its array');
  for (const title of titles) t.match(title, `Remove the former name ${was}`);
  await migrateTo(url, declare(t, renamed), { allowDrop: true });
  t.same(await titlesFor(url, declare(t, renamed)), []);
  t.same(await sql`select relname from pg_class where relname like ${`${was}%`}`, []);
  t.same(
    await sql`select proname from pg_proc where proname like ${`${was}%`} and proname not like '%_note_events'`,
    [],
  );
  await worksAsDeclared(t, url, declare(t, renamed));
});

t.test('objects with names that PostgreSQL has cut are known', async (t) => {
  const { url, sql } = await database(t);
  const folder = declare(t, LONG);
  await migrateTo(url, folder);
  const table = collection('a');
  const column = (letter: string) => `an_unusually_long_name_of_afield_of_it_${letter}`;
  const cut = (...parts: string[]) => parts.join('_').slice(0, 63);
  const [unique] = await sql`select indexrelid::regclass::text as name from pg_index
    where indrelid = ${table}::regclass and indisunique and pg_get_indexdef(indexrelid) like ${`%(${column('u')} %`}`;
  t.ok(unique, 'the index of the unique field');
  await sql.unsafe(`alter index ${unique!.name} rename to ${cut(table, column('u'), 'key')}`);
  const [key] = await sql`select conname as name from pg_constraint
    where conrelid = ${table}::regclass and confdeltype = 'r'`;
  await sql.unsafe(
    `alter table ${table} rename constraint ${key!.name} to ${cut(table, column('r'), 'fkey')}`,
  );
  t.same(await titlesFor(url, folder), []);
  await worksAsDeclared(t, url, folder);
});

t.test('a fault names the reason for which a name is not available', (t) => {
  const rows: [name: string, reason: RegExp][] = [
    ['token', /^\/token is a path of the service itself$/],
    ['pg_class', /^PostgreSQL reserves names that begin with pg_$/],
  ];
  for (const [name, reason] of rows) {
    const folder = declare(t, { [`${name}.json`]: object({ name: text }) });
    try {
      checkDeclarations({ ...readDeclarations(folder), ownPaths: OWN_PATHS });
      t.fail(name);
    } catch (error) {
      t.ok(error instanceof DeclarationError, name);
      t.match((error as DeclarationError).faults, [{ reason }]);
    }
  }
  t.end();
});

t.test('what migrations after the baseline create has names with a prefix', (t) => {
  const names = migrationsOn(CITUS)
    .filter(({ name }) => name >= '03')
    .flatMap(({ text }) => [
      ...text.matchAll(/^create (?:\w+ )?(?:table|view|type|sequence) (?:if not exists )?(\w+)/gm),
    ])
    .map(([, name]) => name!);
  for (const name of names) t.match(name, /^plinth_/);
  t.same(names, [...new Set(names)], 'and each creates others');
  t.end();
});

t.test('the paths that no collection can have are those of the service with all features', async (t) => {
  const env = { AUTH: 'api-key', MAIL: 'log', PUBLIC_URL: 'https://api.example.org' };
  const { endpoints } = await describeApi(ALWAYS_ON, readSettings(env), INVITING);
  const segmentsOf = (owner: string | undefined) => {
    const segments = endpoints
      .filter(({ feature }) => feature === owner)
      .map(({ path }) => path.split('/')[1]!)
      .filter(
        (segment) => /^[a-z][a-z0-9_]*$/.test(segment) && !INVITING.some(({ name }) => name === segment),
      );
    return [...new Set(segments)].sort();
  };
  for (const { name, settings } of FEATURES)
    t.same([...(settings?.part.paths ?? [])].sort(), segmentsOf(name), name);
  // `api` precedes the paths of versions, and a service has `access` if a collection has access rules.
  const core = [...ownPathsOf({ features: new Map() })].filter((name) => name !== 'api' && name !== 'access');
  t.same(core.sort(), segmentsOf(undefined));
});
