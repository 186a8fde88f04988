import { CITUS } from '../../src/database-url/engine.js';
import { readChecked } from '../../src/declarations/check-declarations.js';
import type { Catalog } from '../../src/schema/catalog.js';
import { planText } from '../../src/schema/checked-plan.js';
import { planChanges } from '../../src/schema/plan.js';
import { declare } from '../support/collections.js';
import { declared, text } from '../support/declared.js';
import { migrateTo, planFor, textFor } from '../support/plans.js';
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
  const apply = (path: string) => migrateTo(url, path);
  const left = (path: string) => textFor(url, path);
  const indexes = async () => {
    const rows =
      await sql`select indexrelid::regclass::text as name from pg_index where indrelid = 'books'::regclass and indisunique order by 1`;
    return rows.map(({ name }) => name);
  };
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
  await migrateTo(url, third, { allowDrop: true });
  t.match(await left(third), 'matches the declarations');
  const { send } = await freshService(t, { DATABASE_URL: url, COLLECTIONS: third });
  const post = () => send('POST', '/volumes', { body: { cabinet: 'a', series: 'b' } });
  t.equal((await post()).status, 201);
  t.match(await post(), { status: 409, json: { error: { details: { fields: ['cabinet', 'series'] } } } });
});

t.test('stored records that violate a new key stop the migration before it changes anything', async (t) => {
  const url = await undeclaredDatabase(t);
  const former = folder(t, []);
  await migrateTo(url, former);
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
  const [violations] = (await planFor(url, after)).violations;
  t.match(violations, { violating: 1, duplicates: 1, examples: [expected] });
  await t.rejects(migrateTo(url, after, { allowViolations: true }), { message: new RegExp(expected) });
  t.match((await send('GET', `/books/${second}`)).json, { shelf: 'x', _version: 1 });
  await send('PATCH', `/books/${second}`, { body: { shelf: 'z' } });
  await migrateTo(url, after);
  t.match(await textFor(url, after), 'matches the declarations');
});

t.test('keys and columns that would have one name are distinct', async (t) => {
  const url = await undeclaredDatabase(t);
  const path = declare(t, {
    'books.json': declared(
      { a: text, b: text, aB: { type: 'string', 'x-unique': true } },
      { unique: [['a', 'b'], { fields: ['b', 'a', 'aB'], code: 'ALL_TAKEN' }] },
    ),
  });
  await migrateTo(url, path);
  t.match(await textFor(url, path), 'matches the declarations');
  const { send } = await freshService(t, { DATABASE_URL: url, COLLECTIONS: path });
  const post = (body: object) => send('POST', '/books', { body });
  t.equal((await post({ a: '1', b: '1', aB: '1' })).status, 201);
  t.match(await post({ a: '1', b: '1' }), { json: { error: { details: { fields: ['a', 'b'] } } } });
  t.match(await post({ aB: '1' }), { json: { error: { details: { field: 'aB' } } } });
});

t.test('faults of keys name the file and the place', async (t) => {
  const tags = { type: 'array', items: { type: 'string' }, 'x-index': true };
  const fields = { tags, secret: { type: 'string', writeOnly: true } };
  const rows: [RegExp, unknown][] = [
    [/0: must NOT have fewer than 2 items/, [['series']]],
    [/0: must NOT have more than 5 items/, [['a', 'b', 'c', 'd', 'e', 'f']]],
    [/0: must NOT have duplicate items/, [['series', 'series']]],
    [/0\/1: nothing must be a field/, [['series', 'nothing']]],
    [/0\/1: shelf must be a field with x-index, x-unique or x-references/, [['series', 'shelf']]],
    [/0\/fields\/0: tags must be a field .* no array/, [{ fields: ['tags', 'series'], code: 'A_TAKEN' }]],
    [/0\/0: secret must be a field .* is returned/, [['secret', 'series']]],
    [/0\/code: must match pattern/, [{ fields: ['series', 'number'], code: 'x' }]],
  ];
  for (const [expected, unique] of rows) {
    const message = new RegExp(`#\\/x-collection\\/unique\\/${expected.source}`);
    t.throws(() => readChecked(folder(t, unique, fields), '', new Set()), { message });
  }
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
  const refused = (files: Record<string, object>) =>
    planChanges(
      readChecked(declare(t, { 'authors.json': declared({}), ...files }), '', new Set()).collections,
      catalog,
    );
  const number = { type: 'integer', 'x-index': true, 'x-set': { next: true } };
  const words = { type: 'string', 'x-search': 'words' };
  const person = { authorId: { ...authorId, 'x-references': 'users' } };
  const inviting = {
    'users.json': declared({}, { owner: true }),
    'members.json': declared(person, { invite: true }),
  };
  const rows: [() => unknown, RegExp][] = [
    [() => refused(inviting), /members\.json#\/x-collection\/invite: on Citus an invitation would not end/],
    [
      () => plan({ nested: true, unique: [['series', 'number']] }),
      /unique\/0: on Citus a key needs authorId/,
    ],
    [
      () => plan({ unique: [['series', 'authorId']] }),
      /on Citus only the records of one parent are in one shard/,
    ],
    [() => plan({ ids: 'client' }), /#\/x-collection\/ids: on Citus clients cannot choose ids/],
    [() => plan({ history: true }), /history: on Citus events do not store the record before a change/],
    [
      () => refused({ 'notes.json': declared({ authorId, number }, {}, { required: ['authorId'] }) }),
      /notes\.json#\/properties\/number\/x-set: on Citus there are no numbers/,
    ],
    [
      () => refused({ 'notes.json': declared({ text: words }) }),
      /text\/x-search: on Citus a search finds parts of fields, and no words/,
    ],
  ];
  for (const [run, message] of rows) t.throws(run, { message });
  t.end();
});
