import { type Declarations, readDeclarations } from '../../src/declarations/read-declarations.js';
import { planText } from '../../src/schema/checked-plan.js';
import { migrateCollections, planCollections } from '../../src/schema/migrate-collections.js';
import { declare } from '../support/collections.js';
import { declared, reference } from '../support/declared.js';
import { killedAt, migrateTo, textFor } from '../support/plans.js';
import { testService, undeclaredDatabase } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';
import { some } from '../support/thorough.js';
import { until } from '../support/until.js';

const string = { type: 'string' };
const AUTHORS = declared({ name: string }, {}, { title: 'Author' });
const PLAIN = {
  title: string,
  isbn: string,
  price: { type: 'number' },
  tags: { type: 'array', items: string },
  authorId: string,
};
/** The fields above with everything that has to be built beside the documents. */
const INDEXED = declared(
  {
    name: { type: 'string', 'x-was': 'title', 'x-index': true, 'x-search': true },
    isbn: { type: 'string', 'x-unique': true },
    price: { type: 'number', 'x-index': true },
    tags: { type: 'array', items: string, 'x-index': true },
    authorId: reference('authors', 'null'),
  },
  {},
  { title: 'Book' },
);
/** Books with other fields. */
const books = (fields: object = {}, options: object = {}) =>
  declared({ ...PLAIN, ...fields }, options, { title: 'Book' });

const declarations = (t: Test, books: object): Declarations =>
  readDeclarations(declare(t, { 'authors.json': AUTHORS, 'books.json': books }));

/** A database with books: 2,500, so that the work on documents takes several batches. */
async function library(t: Test, declaration: object = books()) {
  const url = await undeclaredDatabase(t);
  await migrateCollections(url, declarations(t, declaration));
  const sql = sqlOf(t, url);
  await sql.unsafe(`
    insert into authors (id, updated_at, doc)
    select first_id(1), now(), '{"id":"' || first_id(1) || '","name":"Ann","created_at":"1970-01-01T00:00:00.001Z","updated_at":"1970-01-01T00:00:00.001Z","_version":1}';
    insert into books (id, updated_at, doc)
    select first_id(n), now(), format(
      '{"id":"%s","title":"T%s","isbn":"%s","price":%s,"tags":["a","t%s"],"authorId":"%s","created_at":"1970-01-01T00:00:01.000Z","updated_at":"1970-01-01T00:00:01.000Z","_version":1}',
      first_id(n), n, n, n, n % 10, first_id(1))
    from generate_series(1, 2500) as n`);
  return { url, sql };
}

t.test('a plan is SQL that says what it locks; after it nothing is left to do', async (t) => {
  const { url, sql } = await library(t);
  const after = declarations(t, INDEXED);
  const plan = await planCollections(url, after);
  const text = planText(plan);
  for (const expected of [
    'alter table public_collections.books rename to "books$2";',
    'alter table public_collections.books$2 add column price double precision;',
    'create index concurrently books_price_asc on public_collections.books$2 (price asc nulls last, id asc);',
    'create unique index concurrently books_isbn_key on public_collections.books$2 (isbn collate "C");',
    'create index concurrently books_tags_has on public_collections.books$2 using gin (tags);',
    'foreign key (author_id) references public_collections.authors (id) on delete no action not valid;',
    'alter table public_collections.books$2 validate constraint books_author_id_fkey;',
    'Locks books, for an instant.',
  ])
    t.match(text, expected);
  const columns =
    await sql`select 1 from pg_attribute where attrelid = 'books'::regclass and attname = 'price'`;
  t.equal(columns.length, 0, 'a plan changes nothing');
  await migrateCollections(url, after);
  t.match(planText(await planCollections(url, after)), 'matches the declarations');
  const [book] =
    await sql`select doc, price, tags, isbn, name, author_id, version from books$2 order by id limit 1`;
  t.match(book, { price: 1, tags: ['a', 't1'], isbn: '1', name: 'T1', version: 2 });
  t.match(JSON.parse(book!.doc), { name: 'T1', _version: 2 });
  t.notOk('title' in JSON.parse(book!.doc));
  const COLLECTIONS = declare(t, { 'authors.json': AUTHORS, 'books.json': INDEXED });
  const { send } = await testService(t, { DATABASE_URL: url, COLLECTIONS });
  t.match((await send('GET', '/books?page=1&limit=1')).json.meta, { total: 2500 });
});

t.test('options of events apply to users, items and posts of a new database', async (t) => {
  const items = declared({ name: { type: 'string' } }, { history: true }, { title: 'Item' });
  const { send } = await testService(t, {
    COLLECTIONS: declare(t, { 'items.json': items }),
    MIGRATE: 'auto',
  });
  const { id } = (await send('POST', '/items', { body: { name: 'a' } })).json;
  await send('PATCH', `/items/${id}`, { body: { name: 'b' } });
  const [last] = (await send('GET', `/items/${id}/history`)).json.data;
  t.match(last, { type: 'items.updated', changes: [{ name: 'name', before: 'a', after: 'b' }] });
});

t.test('a migration that ends at any step is completed by the next one', async (t) => {
  const { url: first } = await library(t);
  const after = declarations(t, INDEXED);
  const { steps } = await planCollections(first, after);
  t.ok(steps.length >= 15, `${steps.length} steps`);
  for (const killed of some([...steps.keys()], 4)) {
    const { url, sql } = await library(t);
    await t.rejects(migrateCollections(url, after, { onStep: killedAt(killed) }), /killed/);
    await migrateCollections(url, after);
    t.match(planText(await planCollections(url, after)), 'matches the declarations', `step ${killed}`);
    const whole =
      await sql`select 1 from books$2 where price is not null and author_id is not null and doc like '%"name"%'`;
    t.equal(whole.length, 2500);
  }
});

t.test('an index whose build was interrupted is built again', async (t) => {
  const { url, sql } = await library(t);
  const unique = declarations(t, books({ isbn: { type: 'string', 'x-unique': true } }));
  await t.rejects(
    migrateCollections(url, unique, {
      // A client writes the value between the check and the index.
      onStep: async ({ title }) => {
        if (title === 'Fill books.isbn from the documents, 1,000 at a time')
          await sql`insert into books (id, updated_at, doc) select first_id(9000), now(), replace(doc, first_id(1)::text, first_id(9000)::text) from books where id = first_id(1)`;
      },
    }),
    /Build the index books_isbn_key: could not create unique index .*; `plinth migrate --violations` lists the records/,
  );
  await t.rejects(migrateCollections(url, unique), /1 of 2501 records of books violate the declaration/);
  await sql`delete from books where id = first_id(9000)`;
  const text = planText(await planCollections(url, unique));
  t.match(text, /Remove the index books_isbn_key, whose build was interrupted/);
  await migrateCollections(url, unique);
  t.match(planText(await planCollections(url, unique)), 'matches the declarations');
});

t.test('collections are renamed, and removed only on request', async (t) => {
  const indexed = { price: { type: 'number', 'x-index': true }, authorId: reference('authors', 'restrict') };
  const { url, sql } = await library(t, books(indexed));
  const folder = declare(t, {
    // Planned before the collection that it refers to by its new name.
    'authors.json': declared({ name: string, bestId: reference('works', 'null') }, {}, { title: 'Author' }),
    'works.json': books(indexed, { was: 'books' }),
  });
  await migrateTo(url, folder);
  t.match(await sql`select count(*)::int as n from works`, [{ n: 2500 }]);
  t.match(await textFor(url, folder), 'matches the declarations');
  const less = declare(t, { 'works.json': books() });
  const drops = /Only with --allow-drop.*Remove the collection authors.*Loses all records of authors/;
  t.match(await textFor(url, less), drops);
  await migrateTo(url, less);
  const [{ n }] = (await sql`select count(*)::int as n from authors`) as unknown as [{ n: number }];
  t.equal(n, 1, 'nothing is lost without --allow-drop');
  await migrateTo(url, less, { allowDrop: true });
  await t.rejects(sql`select 1 from authors`, /does not exist/);
});

t.test('a migration that waits for another one does not disturb the builds of its indexes', async (t) => {
  const { url, sql } = await library(t);
  const after = declarations(t, INDEXED);
  let second: Promise<unknown> | undefined;
  const attempts = `select count(*)::integer as count from pg_stat_activity
    where datname = current_database() and query like 'select %advisory_lock(%'`;
  await migrateCollections(url, after, {
    onStep: async ({ title }) => {
      if (second || !title.startsWith('Build the index')) return;
      second = migrateCollections(url, after);
      // The failure of the second migration is reported below.
      second.catch(() => undefined);
      await until('it waits', async () => (await sql.unsafe(attempts))[0]!.count > 0);
    },
  });
  await second;
  const { steps } = await planCollections(url, after);
  t.strictSame(steps, [], 'both ended without an error, and nothing is left to do');
});

t.test('two services that start at once migrate once', async (t) => {
  const url = await undeclaredDatabase(t);
  const folder = declare(t, { 'authors.json': AUTHORS, 'books.json': INDEXED });
  const env = { DATABASE_URL: url, COLLECTIONS: folder, MIGRATE: 'auto' };
  const [a, b] = await Promise.all([testService(t, env), testService(t, env)]);
  t.equal((await a.send('POST', '/books', { body: { name: 'x' } })).status, 201);
  t.match((await b.send('GET', '/books')).json, [{ name: 'x' }]);
});

t.test('texts that become points in time, or are none any more, are compared as what they are', async (t) => {
  const url = await undeclaredDatabase(t);
  const dates = (format: object) =>
    declared({
      born: { type: 'string', 'x-index': true, ...format },
      read: { type: 'array', items: { type: 'string', ...format }, 'x-index': true },
    });
  const as = (format: object) => readDeclarations(declare(t, { 'authors.json': dates(format) }));
  const [texts, times] = [as({}), as({ format: 'date-time' })];
  await migrateCollections(url, texts);
  const sql = sqlOf(t, url);
  const local = '2026-01-01T01:00:00+01:00';
  await sql.unsafe(`
    insert into authors (id, updated_at, born, read, doc)
    select first_id(1), now(), '${local}', array['${local}'], '{"id":"' || first_id(1) || '","born":"${local}","read":["${local}"],"created_at":"1970-01-01T00:00:00.001Z","updated_at":"1970-01-01T00:00:00.001Z","_version":1}'`);
  for (const [after, stored] of [
    [times, '2026-01-01T00:00:00.000Z'],
    [texts, local],
  ] as const) {
    t.match((await planCollections(url, after)).steps.at(-1)?.title, /^Fill authors\.born, authors\.read/);
    await migrateCollections(url, after);
    t.same(await sql`select born, read from authors`, [{ born: stored, read: [stored] }]);
    t.same((await planCollections(url, after)).steps, []);
  }
});
