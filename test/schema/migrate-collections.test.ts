import { type Declarations, readDeclarations } from '../../src/declarations/read-declarations.js';
import { planText } from '../../src/schema/checked-plan.js';
import { migrateCollections, planCollections } from '../../src/schema/migrate-collections.js';
import { declare } from '../support/collections.js';
import { declared } from '../support/declared.js';
import { declarationsUnder } from '../support/page-commands.js';
import { testService, undeclaredDatabase } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';
import { some } from '../support/thorough.js';
import { until } from '../support/until.js';

const AUTHORS = { title: 'Author', type: 'object', properties: { name: { type: 'string' } } };
const PLAIN = {
  title: 'Book',
  type: 'object',
  properties: {
    title: { type: 'string' },
    isbn: { type: 'string' },
    price: { type: 'number' },
    tags: { type: 'array', items: { type: 'string' } },
    authorId: { type: 'string' },
  },
};
/** The declaration above with everything that has to be built beside the documents. */
const INDEXED = {
  ...PLAIN,
  properties: {
    name: { type: 'string', 'x-was': 'title', 'x-index': true, 'x-search': true },
    isbn: { type: 'string', 'x-unique': true },
    price: { type: 'number', 'x-index': true },
    tags: { type: 'array', items: { type: 'string' }, 'x-index': true },
    authorId: { type: 'string', 'x-references': 'authors', 'x-on-delete': 'null' },
  },
};

const declarations = (t: Test, books: object): Declarations =>
  readDeclarations(declare(t, { 'authors.json': AUTHORS, 'books.json': books }));

/** A database with books: 2,500, so that the work on documents takes several batches. */
async function library(t: Test, books: object = PLAIN) {
  const url = await undeclaredDatabase(t);
  const before = declarations(t, books);
  await migrateCollections(url, before);
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
  t.equal(
    (
      await sql`select count(*)::int as n from pg_attribute where attrelid = 'books'::regclass and attname = 'price'`
    )[0]!.n,
    0,
    'a plan changes nothing',
  );
  await migrateCollections(url, after);
  t.match(planText(await planCollections(url, after)), 'matches the declarations');
  const [book] =
    await sql`select doc, price, tags, isbn, name, author_id, version from books$2 order by id limit 1`;
  t.match(book, { price: 1, tags: ['a', 't1'], isbn: '1', name: 'T1', version: 2 });
  t.match(JSON.parse(book!.doc), { name: 'T1', _version: 2 });
  t.notOk('title' in JSON.parse(book!.doc));
  const { send } = await testService(t, {
    DATABASE_URL: url,
    COLLECTIONS: declare(t, { 'authors.json': AUTHORS, 'books.json': INDEXED }),
  });
  t.match((await send('GET', '/books?page=1&limit=1')).json.meta, { total: 2500 });
});

t.test('a new database has nothing to complete', async (t) => {
  const url = await undeclaredDatabase(t);
  const declarations = readDeclarations(declare(t, declarationsUnder('docs/recipes.md', 'Begin')));
  await migrateCollections(url, declarations);
  t.match(await planCollections(url, declarations), { steps: [], drops: [] });
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
    await t.rejects(
      migrateCollections(url, after, {
        onStep: (_, index) => {
          if (index === killed) throw new Error('killed');
        },
      }),
      /killed/,
    );
    await migrateCollections(url, after);
    t.match(planText(await planCollections(url, after)), 'matches the declarations', `step ${killed}`);
    t.match(
      await sql`select count(*)::int as n from books$2 where price is not null and author_id is not null and doc like '%"name"%'`,
      [{ n: 2500 }],
    );
  }
});

t.test('an index whose build was interrupted is built again', async (t) => {
  const { url, sql } = await library(t);
  const unique = declarations(t, {
    ...PLAIN,
    properties: { ...PLAIN.properties, isbn: { type: 'string', 'x-unique': true } },
  });
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
  t.match(
    await migrateCollections(url, unique).catch(String),
    /1 of 2501 records of books violate the declaration/,
  );
  await sql`delete from books where id = first_id(9000)`;
  const text = planText(await planCollections(url, unique));
  t.match(text, /Remove the index books_isbn_key, whose build was interrupted/);
  await migrateCollections(url, unique);
  t.match(planText(await planCollections(url, unique)), 'matches the declarations');
});

t.test('stored records that violate a new rule are reported before anything is changed', async (t) => {
  const { url } = await library(t);
  const stricter = declarations(t, {
    ...PLAIN,
    properties: { ...PLAIN.properties, price: { type: 'number', maximum: 2000, 'x-index': true } },
  });
  t.match(
    planText(await planCollections(url, stricter)),
    '500 of 2500 records of books violate the declaration',
  );
  await t.rejects(
    migrateCollections(url, stricter),
    /500 of 2500 records of books[\s\S]*00000000-07d1-[^:]*: \/price must be at most 2000/,
  );
  await migrateCollections(url, stricter, { allowViolations: true });
  t.match(planText(await planCollections(url, stricter)), 'matches the declarations');
});

t.test('collections are renamed, and removed only on request', async (t) => {
  const { url, sql } = await library(t, INDEXED_BEFORE);
  const bestId = { type: 'string', 'x-references': 'works', 'x-on-delete': 'null' };
  const folder = declare(t, {
    // Planned before the collection that it refers to by its new name.
    'authors.json': { ...AUTHORS, properties: { ...AUTHORS.properties, bestId } },
    'works.json': { ...INDEXED_BEFORE, 'x-collection': { was: 'books' } },
  });
  await migrateCollections(url, readDeclarations(folder));
  t.match(await sql`select count(*)::int as n from works`, [{ n: 2500 }]);
  t.match(planText(await planCollections(url, readDeclarations(folder))), 'matches the declarations');
  const less = readDeclarations(declare(t, { 'works.json': PLAIN_WORKS }));
  const plan = await planCollections(url, less);
  t.match(
    planText(plan),
    /Only with --allow-drop.*Remove the collection authors.*Loses all records of authors/,
  );
  await migrateCollections(url, less);
  t.match(
    await sql`select count(*)::int as n from authors`,
    [{ n: 1 }],
    'nothing is lost without --allow-drop',
  );
  await migrateCollections(url, less, { allowDrop: true });
  await t.rejects(sql`select 1 from authors`, /does not exist/);
});

const INDEXED_BEFORE = {
  ...PLAIN,
  properties: {
    ...PLAIN.properties,
    price: { type: 'number', 'x-index': true },
    authorId: { type: 'string', 'x-references': 'authors' },
  },
};
const PLAIN_WORKS = PLAIN;

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

t.test('a stricter rule is checked also where the declaration refers to a shared schema', async (t) => {
  const url = await undeclaredDatabase(t);
  const shared = { $defs: { money: { type: 'object', properties: { amount: { type: 'number' } } } } };
  const folder = (required: readonly string[]) =>
    declare(t, {
      '_shared.json': shared,
      'authors.json': {
        title: 'Author',
        type: 'object',
        required,
        properties: { name: { type: 'string' }, fee: { $ref: '_shared.json#/$defs/money' } },
      },
    });
  const settings = { DATABASE_URL: url, MIGRATE: 'auto' };
  const first = await testService(t, { ...settings, COLLECTIONS: folder([]) });
  t.equal((await first.send('POST', '/authors', { body: { fee: { amount: 1 } } })).status, 201);
  await first.stop();
  const stricter = folder(['name']);
  t.match(
    planText(await planCollections(url, readDeclarations(stricter))),
    '1 of 1 records of authors violate the declaration',
  );
  await migrateCollections(url, readDeclarations(stricter), { allowViolations: true });
  const second = await testService(t, { ...settings, COLLECTIONS: stricter });
  const response = await second.send('POST', '/authors', { body: { name: 'Ann', fee: { amount: 'x' } } });
  t.match([response.status, response.text], [400, '"path":"/fee/amount"']);
});

t.test('texts that become points in time, or are none any more, are compared as what they are', async (t) => {
  const url = await undeclaredDatabase(t);
  const dates = (format: object) => ({
    ...AUTHORS,
    properties: {
      born: { type: 'string', 'x-index': true, ...format },
      read: { type: 'array', items: { type: 'string', ...format }, 'x-index': true },
    },
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
