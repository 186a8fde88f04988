import { CITUS } from '../../src/database-url/engine.js';
import { readChecked } from '../../src/declarations/check-declarations.js';
import { readDeclarations } from '../../src/declarations/read-declarations.js';
import type { Catalog } from '../../src/schema/catalog.js';
import { planText } from '../../src/schema/checked-plan.js';
import { migrateCollections, planCollections } from '../../src/schema/migrate-collections.js';
import { planChanges } from '../../src/schema/plan.js';
import { declare } from '../support/collections.js';
import { declared, text } from '../support/declared.js';
import { freshService, undeclaredDatabase } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';

const books = (unique: unknown, properties: object = {}) =>
  declared(
    {
      series: text,
      number: { type: 'integer', 'x-index': true },
      shelf: { type: 'string' },
      ...properties,
    },
    { unique },
    { title: 'Book' },
  );
const folder = (t: Test, unique: unknown, properties?: object) =>
  declare(t, { 'books.json': books(unique, properties) });

t.test('the index of a key is built, renamed with its fields, and removed', async (t) => {
  const url = await undeclaredDatabase(t);
  const sql = sqlOf(t, url);
  const apply = (path: string) => migrateCollections(url, readDeclarations(path));
  const left = async (path: string) => planText(await planCollections(url, readDeclarations(path)));
  const indexes = async () =>
    (
      await sql`select indexrelid::regclass::text as name from pg_index where indrelid = 'books'::regclass and indisunique order by 1`
    ).map(({ name }) => name);
  await apply(folder(t, []));
  const first = folder(t, [['series', 'number']]);
  t.match(
    await left(first),
    'create unique index concurrently books_series_number_key on public_collections.books (series collate "C", number);',
  );
  await apply(first);
  t.match(await left(first), 'matches the declarations');
  t.same(await indexes(), ['books_pkey', 'books_series_number_key']);
  const second = folder(t, [{ fields: ['shelf', 'series'], code: 'PLACE_TAKEN' }], { shelf: text });
  await apply(second);
  t.same(await indexes(), ['books_pkey', 'books_shelf_series_key']);
  const third = declare(t, {
    'volumes.json': {
      ...books([['cabinet', 'series']], { shelf: undefined, cabinet: { ...text, 'x-was': 'shelf' } }),
      'x-collection': { was: 'books', unique: [['cabinet', 'series']] },
    },
  });
  await migrateCollections(url, readDeclarations(third), { allowDrop: true });
  t.match(await left(third), 'matches the declarations');
  const { send } = await freshService(t, { DATABASE_URL: url, COLLECTIONS: third });
  const post = () => send('POST', '/volumes', { body: { cabinet: 'a', series: 'b' } });
  t.equal((await post()).status, 201);
  t.match(await post(), { status: 409, json: { error: { details: { fields: ['cabinet', 'series'] } } } });
});

t.test('stored records that violate a new key stop the migration before it changes anything', async (t) => {
  const url = await undeclaredDatabase(t);
  const former = folder(t, []);
  await migrateCollections(url, readDeclarations(former));
  const { send } = await freshService(t, { DATABASE_URL: url, COLLECTIONS: former });
  const post = async (body: object): Promise<string> => (await send('POST', '/books', { body })).json.id;
  await post({ series: 'a', shelf: 'x' });
  await post({ series: 'a', shelf: 'y' });
  const first = await post({ series: 'b', shelf: 'x' });
  const second = await post({ series: 'b', shelf: 'x' });
  await post({ series: 'b' });
  await post({ series: 'b' });
  const after = folder(t, [['series', 'place']], { shelf: undefined, place: { ...text, 'x-was': 'shelf' } });
  const expected = `${second}: /series must be unique together with place, and record ${first} has the values, too`;
  const [violations] = (await planCollections(url, readDeclarations(after))).violations;
  t.match(violations, { violating: 1, duplicates: 1, examples: [expected] });
  await t.rejects(migrateCollections(url, readDeclarations(after), { allowViolations: true }), {
    message: new RegExp(expected),
  });
  t.match((await send('GET', `/books/${second}`)).json, { shelf: 'x', _version: 1 });
  await send('PATCH', `/books/${second}`, { body: { shelf: 'z' } });
  await migrateCollections(url, readDeclarations(after));
  t.match(planText(await planCollections(url, readDeclarations(after))), 'matches the declarations');
});

t.test('keys and columns that would have one name are distinct', async (t) => {
  const url = await undeclaredDatabase(t);
  const path = declare(t, {
    'books.json': declared(
      { a: text, b: text, aB: { type: 'string', 'x-unique': true } },
      { unique: [['a', 'b'], { fields: ['b', 'a', 'aB'], code: 'ALL_TAKEN' }] },
    ),
  });
  await migrateCollections(url, readDeclarations(path));
  t.match(planText(await planCollections(url, readDeclarations(path))), 'matches the declarations');
  const { send } = await freshService(t, { DATABASE_URL: url, COLLECTIONS: path });
  const post = (body: object) => send('POST', '/books', { body });
  t.equal((await post({ a: '1', b: '1', aB: '1' })).status, 201);
  t.match(await post({ a: '1', b: '1' }), { json: { error: { details: { fields: ['a', 'b'] } } } });
  t.match(await post({ aB: '1' }), { json: { error: { details: { field: 'aB' } } } });
});

t.test('faults of keys name the file and the place', async (t) => {
  const keyed = (unique: unknown, properties: object = {}) => folder(t, unique, properties);
  const rows: [RegExp, string][] = [
    [/#\/x-collection\/unique\/0: must NOT have fewer than 2 items/, keyed([['series']])],
    [/#\/x-collection\/unique\/0: must NOT have more than 5 items/, keyed([['a', 'b', 'c', 'd', 'e', 'f']])],
    [/#\/x-collection\/unique\/0: must NOT have duplicate items/, keyed([['series', 'series']])],
    [/#\/x-collection\/unique\/0\/1: nothing must be a field/, keyed([['series', 'nothing']])],
    [
      /#\/x-collection\/unique\/0\/1: shelf must be a field with x-index, x-unique or x-references/,
      keyed([['series', 'shelf']]),
    ],
    [
      /#\/x-collection\/unique\/0\/fields\/0: tags must be a field .* no array/,
      keyed([{ fields: ['tags', 'series'], code: 'A_TAKEN' }], {
        tags: { type: 'array', items: { type: 'string' }, 'x-index': true },
      }),
    ],
    [
      /#\/x-collection\/unique\/0\/0: secret must be a field .* is returned/,
      keyed([['secret', 'series']], { secret: { type: 'string', writeOnly: true } }),
    ],
    [
      /#\/x-collection\/unique\/0\/code: must match pattern/,
      keyed([{ fields: ['series', 'number'], code: 'x' }]),
    ],
  ];
  for (const [expected, path] of rows)
    t.throws(() => readChecked(path, '', new Set()), { message: expected });
});

t.test('on Citus a key has the field that decides the shard of a record', (t) => {
  const catalog: Catalog = {
    engine: CITUS,
    schema: 'public_collections',
    tables: new Map(),
    occupied: [],
    applied: new Map(),
    former: new Map(),
    fieldsSince: new Map(),
    pending: [],
    due: new Set(),
    sqlFiles: new Map(),
    windows: new Map(),
    formerNames: new Map(),
  };
  const authorId = { type: 'string', 'x-references': 'authors', 'x-on-delete': 'cascade' };
  const plan = (options: object) => {
    const files = {
      'authors.json': { type: 'object', properties: {} },
      'books.json': { ...books([], { authorId }), required: ['authorId'], 'x-collection': options },
    };
    return planChanges(readChecked(declare(t, files), '', new Set()).collections, catalog);
  };
  const sql = planText({ ...plan({ nested: true, unique: [['series', 'authorId']] }), violations: [] });
  t.match(
    sql,
    'create unique index books_series_author_id_key on public_collections.books (series collate "C", author_id)',
  );
  t.throws(() => plan({ nested: true, unique: [['series', 'number']] }), {
    message: /books\.json#\/x-collection\/unique\/0: on Citus a key needs authorId/,
  });
  t.throws(() => plan({ unique: [['series', 'authorId']] }), {
    message: /#\/x-collection\/unique\/0: on Citus only the records of one parent are in one shard/,
  });
  t.throws(() => plan({ ids: 'client' }), {
    message: /#\/x-collection\/ids: on Citus clients cannot choose ids/,
  });
  t.throws(() => plan({ history: true }), {
    message: /#\/x-collection\/history: on Citus events do not store the record before a change/,
  });
  const person = { authorId: { ...authorId, 'x-references': 'users' } };
  const invited = declare(t, {
    'users.json': { type: 'object', properties: {}, 'x-collection': { owner: true } },
    'members.json': { type: 'object', properties: person, 'x-collection': { invite: true } },
  });
  t.throws(() => planChanges(readChecked(invited, '', new Set()).collections, catalog), {
    message: /members\.json#\/x-collection\/invite: on Citus an invitation would not end/,
  });
  const numbered = { number: { type: 'integer', 'x-index': true, 'x-set': { next: true } } };
  const numbers = declare(t, {
    'authors.json': { type: 'object', properties: {} },
    'notes.json': { type: 'object', properties: { authorId, ...numbered }, required: ['authorId'] },
  });
  t.throws(() => planChanges(readChecked(numbers, '', new Set()).collections, catalog), {
    message: /notes\.json#\/properties\/number\/x-set: on Citus there are no numbers/,
  });
  const words = declare(t, {
    'notes.json': { type: 'object', properties: { text: { type: 'string', 'x-search': 'words' } } },
  });
  t.throws(() => planChanges(readChecked(words, '', new Set()).collections, catalog), {
    message:
      /notes\.json#\/properties\/text\/x-search: on Citus a search finds parts of fields, and no words/,
  });
  t.end();
});
