import { CITUS } from '../../src/database-url/engine.js';
import { checkDeclarations } from '../../src/declarations/check-declarations.js';
import { readDeclarations } from '../../src/declarations/read-declarations.js';
import { readCatalog } from '../../src/schema/catalog.js';
import {
  type MigrateOptions,
  migrateCollections,
  planCollections,
} from '../../src/schema/migrate-collections.js';
import { planChanges } from '../../src/schema/plan.js';
import { declare } from '../support/collections.js';
import { declared } from '../support/declared.js';
import { undeclaredDatabase } from '../support/service.js';
import { SCHEMA, sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';

const PEOPLE = { type: 'object', properties: { name: { type: 'string', 'x-index': true } } };
const ids = (more: object = {}, items: object = {}) => ({
  type: 'array',
  maxItems: 20,
  items: { type: 'string', 'x-references': 'people', ...items },
  ...more,
});
const tasks = (properties: object, options: object = {}) =>
  declared({ title: { type: 'string' }, ...properties }, options);

t.test('declarations of arrays of references', (t) => {
  const rows: [says: string, field: unknown, fault: RegExp | undefined][] = [
    ['the least', ids(), undefined],
    ['ids that differ', ids({ uniqueItems: true, minItems: 1 }), undefined],
    ['a format', ids({}, { format: 'uuid' }), undefined],
    ['restrict', ids({}, { 'x-on-delete': 'restrict' }), undefined],
    ['remove', ids({ minItems: 0 }, { 'x-on-delete': 'remove' }), undefined],
    ['an array or null', ids({ type: ['array', 'null'] }), undefined],
    ['by a definition', { $ref: '#/$defs/ids' }, undefined],
    ['a default', ids({ default: [] }), undefined],
    ['indexed as well', ids({ 'x-index': true }), undefined],
    ['no bound', ids({ maxItems: undefined }), /watchers\/maxItems: an array of references needs maxItems/],
    ['a large bound', ids({ maxItems: 1001 }), /watchers\/maxItems: .* at most 1000/],
    ['another type', ids({ type: 'object' }), /watchers\/type: .*must have the type string, or array/],
    ['no type', ids({ type: undefined }), /watchers\/type: .*must have the type string, or array/],
    ['a text or an array', ids({ type: ['array', 'string'] }), /watchers\/type: .* or array with/],
    ['ids of no type', ids({}, { type: undefined }), /watchers\/type: .*items of type string/],
    ['numbers', ids({}, { type: 'integer' }), /watchers\/type: .*items of type string/],
    ['a missing collection', ids({}, { 'x-references': 'persons' }), /items\/x-references: there is no coll/],
    [
      'too few left',
      ids({ minItems: 1 }, { 'x-on-delete': 'remove' }),
      /x-on-delete: would leave the record/,
    ],
    ['no reference', { type: 'array', items: { type: 'string', 'x-on-delete': 'remove' } }, /x-references/],
    ['beside items', ids({ 'x-on-delete': 'remove' }), /watchers.*x-references/],
    ['unique', ids({ 'x-unique': true }), /watchers\/x-unique: an array cannot be unique/],
    ['searched', ids({ 'x-search': true }), /watchers\/x-search: only a field of type string/],
    ['hidden', ids({ writeOnly: true }), /watchers\/writeOnly: .* cannot be indexed/],
    ['arrays in an array', { type: 'array', items: ids() }, /items\/items\/x-references: has no effect here/],
    ['objects', { type: 'array', items: { type: 'object', properties: { a: ids() } } }, /has no effect here/],
    ['in an object', { type: 'object', properties: { a: ids() } }, /a\/items\/x-references: has no effect/],
    ['in anyOf', { type: 'array', items: { anyOf: [ids().items] } }, /anyOf\/0\/x-references: has no effect/],
  ];
  for (const [says, field, fault] of rows) {
    const folder = declare(t, {
      'people.json': PEOPLE,
      'tasks.json': { ...tasks({ watchers: field }), $defs: { ids: ids() } },
    });
    const check = () => checkDeclarations(readDeclarations(folder));
    if (fault) t.throws(check, fault, says);
    else t.doesNotThrow(check, says);
  }
  t.end();
});

t.test('Citus refuses them with the reason', async (t) => {
  const declarations = readDeclarations(
    declare(t, { 'people.json': PEOPLE, 'tasks.json': tasks({ watchers: ids() }) }),
  );
  const empty = async () => [
    { state: '{"tables":[],"occupied":[],"applied":[],"pending":[],"files":[],"views":[]}' },
  ];
  const catalog = await readCatalog(empty, [], { engine: CITUS, schema: 'collections' });
  t.throws(
    () => planChanges(declarations.collections, catalog),
    /tasks.json#\/properties\/watchers\/items\/x-references: on Citus an array refers to no records/,
  );
});

interface Options extends MigrateOptions {
  readonly file?: string;
}

/** A database, and what applies declarations of tasks to it. */
async function database(t: Test) {
  const url = await undeclaredDatabase(t);
  const sql = sqlOf(t, url);
  const files = (file: string, schema: object) =>
    readDeclarations(declare(t, { 'people.json': PEOPLE, [`${file}.json`]: schema }));
  const apply = async (schema: object, { file = 'tasks', ...options }: Options = {}) => {
    const declarations = files(file, schema);
    const { steps } = await migrateCollections(url, declarations, options);
    const left = await planCollections(url, declarations);
    t.same(left.steps, [], 'a second run has nothing to do');
    return { titles: steps.map(({ title }) => title), drops: left.drops.map(({ title }) => title) };
  };
  const tables = async () =>
    (
      await sql`select relname from pg_class
        where relnamespace = ${SCHEMA}::regnamespace and relkind = 'r' and relname like '%$refs%'`
    ).length;
  const insert = async (table: string, id: number, doc: object, column?: readonly [string, string]) => {
    const uuid = `00000000-0000-7000-8000-${String(id).padStart(12, '0')}`;
    const text = JSON.stringify({
      id: uuid,
      ...doc,
      created_at: '1970-01-01T00:00:00.000Z',
      updated_at: '2026-01-01T00:00:00.000Z',
      _version: 1,
    });
    const [name, value] = column ?? ['version', '1'];
    await sql.unsafe(
      `insert into ${SCHEMA}.${table} (id, updated_at, doc, ${name}) values ($1, now(), $2, $3)`,
      [uuid, text, value],
    );
    return uuid;
  };
  return { url, sql, apply, insert, tables };
}

const violated = (error: unknown) => (error as { code?: string }).code;

t.test('items of stored records that become references, and stop being some', async (t) => {
  const { url, sql, apply, insert, tables } = await database(t);
  const plain = tasks({ watchers: { type: 'array', items: { type: 'string' }, 'x-index': true } });
  await apply(plain);
  const [ann, bob] = [await insert('people', 1, {}), await insert('people', 2, {})];
  await insert('tasks', 3, { watchers: [ann, bob] });
  await insert('tasks', 4, { watchers: [] });
  const missing = '00000000-0000-7000-8000-00000000dead';
  const wrong = await insert('tasks', 5, { watchers: [bob, missing] });
  const declared = tasks({ watchers: ids({}, { 'x-on-delete': 'remove' }) });
  await t.rejects(apply(declared), new RegExp(`${wrong}: /watchers/1 is the id of no people`));
  const { titles } = await apply(declared, { allowViolations: true });
  t.match(
    titles.join('\n'),
    /Make the ids in tasks\.watchers\$ids refer to people[\s\S]*Fill tasks\.watchers\$ids/,
  );
  t.equal(await tables(), 1);
  const column = (id: string) =>
    sql.unsafe(`select "watchers$ids" as ids, version from ${SCHEMA}.tasks$2 where id = $1`, [id]);
  t.match(await column(wrong), [{ ids: [bob] }], 'only records that exist');
  await sql.unsafe(`delete from ${SCHEMA}.people where id = $1`, [bob]);
  t.match(await column(wrong), [{ ids: null, version: 2 }]);
  // Another effect of a deletion.
  const restricted = tasks({ watchers: ids() });
  t.match(
    (await apply(restricted, { allowViolations: true })).titles.join(),
    /Make the ids in tasks\.watchers/,
  );
  const remove = () => sql.unsafe(`delete from ${SCHEMA}.people where id = $1`, [ann]);
  t.match(await remove().catch(violated), /^23(001|503)$/);
  // No service with the former declaration uses the links.
  const { titles: retired } = await apply(plain);
  t.match(
    retired.join('\n'),
    /Stop checking the ids in tasks\.watchers\$ids[\s\S]*Remove the column tasks\.watchers\$ids/,
  );
  t.equal(await tables(), 0);
  await remove();
  await migrateCollections(
    url,
    readDeclarations(declare(t, { 'people.json': PEOPLE, 'tasks.json': plain })),
    { allowDrop: true },
  );
  t.equal(await tables(), 0);
  t.same((await sql`select 1 from pg_proc where proname like '%$refs%'`).length, 0);
});

t.test('a reference that comes back before its links were removed', async (t) => {
  const { sql, apply, insert } = await database(t);
  const declared = tasks({ watchers: ids() });
  await apply(declared);
  const ann = await insert('people', 1, {});
  const task = await insert('tasks', 2, { watchers: [ann] }, ['watchers', `{${ann}}`]);
  await apply(tasks({ watchers: { type: 'array' } }));
  await sql.unsafe(`delete from ${SCHEMA}.people where id = $1`, [ann]);
  await t.rejects(apply(declared), /watchers\/0 is the id of no people/);
  await apply(declared, { allowViolations: true });
  t.match(await sql.unsafe(`select watchers from ${SCHEMA}.tasks where id = $1`, [task]), [
    { watchers: null },
  ]);
});

t.test('renamed fields and collections check their ids under the new name', async (t) => {
  const { sql, apply, insert, tables } = await database(t);
  await apply(tasks({ watchers: ids({}, { 'x-on-delete': 'remove' }) }));
  const [ann, bob] = [await insert('people', 1, {}), await insert('people', 2, {})];
  const task = await insert('tasks', 3, { watchers: [ann, bob] }, ['watchers', `{${ann},${bob}}`]);
  const field = tasks({ followers: ids({ 'x-was': 'watchers' }, { 'x-on-delete': 'remove' }) });
  await apply(field);
  const collection = tasks({ followers: ids({}, { 'x-on-delete': 'remove' }) }, { was: 'tasks' });
  await apply(collection, { file: 'jobs_to_do' });
  const links = async () =>
    (
      await sql.unsafe(
        `select * from ${SCHEMA}."${
          (
            await sql`select relname from pg_class where relnamespace = ${SCHEMA}::regnamespace and relkind = 'r'
              and relname like 'jobs_to_do_followers_$refs%'`
          )[0]!.relname
        }"`,
      )
    ).length;
  t.equal(await links(), 2);
  const set = (ids: string) =>
    sql.unsafe(`update ${SCHEMA}.jobs_to_do set followers = $1 where id = $2`, [ids, task]);
  await t.rejects(set(`{${ann},${task}}`), { code: '23503', detail: /followers/ });
  await sql.unsafe(`delete from ${SCHEMA}.people where id = $1`, [ann]);
  t.match(await sql.unsafe(`select followers, version, doc from ${SCHEMA}.jobs_to_do`), [
    { followers: [bob], version: 3, doc: new RegExp(`"followers":\\["${bob}"\\]`) },
  ]);
  t.equal(await links(), 1);
  // Services with the former names do not.
  const fences =
    await sql`select viewname from pg_views where schemaname = ${SCHEMA} order by length(viewname), viewname`;
  t.match(
    fences.map(({ viewname }) => viewname),
    ['tasks', 'tasks$2', /^tasks_followers_\$refs/],
  );
  for (const { viewname } of fences)
    await t.rejects(sql.unsafe(`select 1 from ${SCHEMA}."${viewname}"`), { code: '55000' });
  await apply(collection, { file: 'jobs_to_do', allowDrop: true });
  t.equal(await tables(), 1);
  t.same((await sql`select viewname from pg_views where schemaname = ${SCHEMA}`).length, 0);
});

t.test('a collection with arrays of references is removed with its links', async (t) => {
  const { url, sql, apply, tables } = await database(t);
  await apply(tasks({ watchers: ids(), reviewers: ids({}, { 'x-on-delete': 'remove' }) }));
  t.equal(await tables(), 2);
  await migrateCollections(url, readDeclarations(declare(t, { 'people.json': PEOPLE })), { allowDrop: true });
  t.equal(await tables(), 0);
  t.equal((await sql`select 1 from pg_proc where proname like '%$refs%'`).length, 0);
});
