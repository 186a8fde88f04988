import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readDeclarations } from '../../src/declarations/read-declarations.js';
import { migrateCollections, planCollections } from '../../src/schema/migrate-collections.js';
import { valuesOf } from '../support/callers.js';
import { declare } from '../support/collections.js';
import { plinth } from '../support/command.js';
import { declared } from '../support/declared.js';
import { killedAt, planFor } from '../support/plans.js';
import { testService, undeclaredDatabase } from '../support/service.js';
import { openSql, sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';
import { some } from '../support/thorough.js';
import { recordsIn, words } from '../support/words.js';

type Schema = Readonly<Record<string, unknown>>;

const book = (properties: object, more: object = {}): Schema => ({
  title: 'Book',
  type: 'object',
  properties,
  ...more,
});
const CLOSED = { additionalProperties: false };

/** A database with records that a service with `before` has stored, and the folder of `after`. */
async function stored(
  t: Test,
  before: Schema,
  records: readonly object[],
  after: Schema,
  shared: object[] = [],
) {
  const url = await undeclaredDatabase(t);
  const folder = (schema: Schema, index: number) =>
    declare(t, {
      'books.json': schema,
      ...(shared[index] === undefined ? {} : { '_shared.json': shared[index] }),
    });
  const former = { DATABASE_URL: url, COLLECTIONS: folder(before, 0), MIGRATE: 'auto' };
  const service = await testService(t, former);
  for (const body of records) {
    const { status, text } = await service.send('POST', '/books', { body });
    t.equal(status, 201, text);
  }
  await service.stop();
  const collections = folder(after, 1);
  const env = { DATABASE_URL: url, COLLECTIONS: collections };
  return { url, env, collections, declarations: readDeclarations(collections) };
}

t.test('a stricter rule is noticed, whatever the field or the keyword is called', async (t) => {
  const names = words(`
    title description default examples $comment $schema x-rating properties
  `);
  const text = (maxLength: number) => ({ type: 'string', maxLength });
  const of = (n: number) => (n > 3 ? 'abc' : 'x');
  type Row = [says: string, (maxLength: number) => object, record: object];
  const rows: Row[] = [
    ...names.flatMap((name): Row[] => [
      [name, (n) => ({ [name]: text(n) }), { [name]: 'abc' }],
      [`${name} in an object`, (n) => ({ o: declared({ [name]: text(n) }) }), { o: { [name]: 'abc' } }],
    ]),
    ['in items', (n) => ({ o: { type: 'array', items: text(n) } }), { o: ['abc'] }],
    [
      'a pattern of names',
      (n) => ({ o: { patternProperties: { '^title$': text(n) } } }),
      { o: { title: 'abc' } },
    ],
    ['a constant with a title', (n) => ({ o: { const: { title: of(n) } } }), { o: { title: 'abc' } }],
    ['an enumeration', (n) => ({ o: { enum: [{ default: of(n) }] } }), { o: { default: 'abc' } }],
  ];
  const properties = (n: number) =>
    Object.fromEntries(rows.map(([, make], index) => [`f${index}`, { type: 'object', properties: make(n) }]));
  const records = rows.map(([, , record], index) => ({ [`f${index}`]: record }));
  // Fields of the record itself: one collection with all names.
  const own = Object.fromEntries(names.map((name) => [name, text(9)]));
  const before = { ...own, ...properties(9) };
  const { url } = await stored(t, book(before), [...records, { title: 'abc' }], book({}));
  const violations = async (fields: object) =>
    (await planFor(url, declare(t, { 'books.json': book({ ...before, ...fields }) }))).violations;
  for (const [index, [says, make]] of some([...rows.entries()], 3)) {
    t.match(await violations({ [`f${index}`]: declared(make(2)) }), [{ violating: 1 }], says);
  }
  for (const name of new Set(['title', ...some(names, 2)])) {
    t.match(await violations({ [name]: text(2) }), [{ violating: name === 'title' ? 1 : 0 }], name);
  }
  const title = { ...text(9), title: 'T', description: 'D', examples: ['x'] };
  t.strictSame(await violations({ title }), []);
});

t.test('a stricter rule in a shared schema is noticed', async (t) => {
  const shared = (maxLength: number) => ({ $defs: { name: { type: 'string', maxLength } } });
  const schema = book({ name: { $ref: '_shared.json#/$defs/name' } });
  const { url, declarations } = await stored(t, schema, [{ name: 'abc' }], schema, [shared(9), shared(2)]);
  t.match((await planCollections(url, declarations)).violations, [{ violating: 1 }]);
  await migrateCollections(url, declarations, { allowViolations: true });
  t.strictSame((await planCollections(url, declarations)).violations, []);
});

t.test('records of a closed declaration are checked after a rename', async (t) => {
  const { url, collections, declarations } = await stored(
    t,
    book({ title: { type: 'string' }, n: { type: 'number' } }, { ...CLOSED, required: ['title'] }),
    [{ title: 'T', n: 1 }],
    book(
      { name: { type: 'string', 'x-was': 'title', 'x-index': true }, n: { type: 'number' } },
      { ...CLOSED, required: ['name'] },
    ),
  );
  t.strictSame((await planCollections(url, declarations)).violations, [
    { collection: 'books', records: 1, violating: 0, duplicates: 0, examples: [] },
  ]);
  const { send } = await testService(t, { DATABASE_URL: url, COLLECTIONS: collections, MIGRATE: 'auto' });
  const [{ id, name }] = (await send('GET', '/books')).json;
  t.equal(name, 'T');
  t.equal((await send('PATCH', `/books/${id}`, { body: { n: 2 } })).status, 200);
});

t.test('a dropped field of a closed declaration is removed by a step', async (t) => {
  const { url, env, declarations } = await stored(
    t,
    book({ name: { type: 'string' }, old: { type: 'string', 'x-index': true } }, CLOSED),
    [{ name: 'a', old: 'x' }, { name: 'b' }],
    book({ name: { type: 'string' } }, CLOSED),
  );
  const refused = await plinth(t, ['migrate'], env);
  t.equal(refused.code, 1);
  for (const expected of [
    '1 of 2 records of books',
    '--allow-violations',
    '--violations',
    '--allow-drop removes the values of books.old',
  ])
    t.match(refused.err, expected);
  const planned = await plinth(t, ['migrate', '--plan'], env);
  t.match(planned, { code: 1, out: /Remove books.old from the documents/ });
  const listed = await plinth(t, ['migrate', '--violations'], env);
  t.match(listed, { code: 1, out: /^books [0-9a-f-]{36}: \/old is not a known field[^\n]*\n$/ });
  const { out } = await plinth(t, ['migrate', '--violations', '--json'], env);
  t.equal(JSON.parse(out).collection, 'books');
  t.equal((await plinth(t, ['migrate', '--allow-violations'], env)).code, 0);
  t.equal((await plinth(t, ['migrate', '--violations'], env)).code, 1, 'also those that were let stay');
  t.equal((await planCollections(url, declarations)).drops.length, 2, 'the field, and its column');
  t.equal((await plinth(t, ['migrate', '--allow-drop'], env)).code, 0);
  t.match(await plinth(t, ['migrate', '--violations'], env), { code: 0, out: '' });
  const plan = await plinth(t, ['migrate', '--plan'], env);
  t.match(plan, { code: 0, out: '-- The database matches the declarations.\n' });
  const { send } = await testService(t, env);
  for (const { id, old } of (await send('GET', '/books')).json) {
    t.equal(old, undefined);
    t.equal((await send('PATCH', `/books/${id}`, { body: { name: 'c' } })).status, 200);
  }
});

t.test('a field that becomes required gets its default, however often that is interrupted', async (t) => {
  const { url, collections, declarations } = await stored(
    t,
    book({ name: { type: 'string' } }),
    [{ name: 'a' }, { name: 'b', state: 'done' }],
    book(
      {
        name: { type: 'string' },
        state: { type: 'string', default: 'new', 'x-index': true },
        n: { type: 'number', default: 0 },
      },
      { required: ['state', 'n'] },
    ),
  );
  const sql = sqlOf(t, url);
  await sql`insert into books (id, updated_at, doc)
    select first_id(n), now(), format('{"id":"%s","created_at":"1970-01-01T00:00:01.000Z","updated_at":"1970-01-01T00:00:01.000Z","_version":1}', first_id(n))
    from generate_series(1, 2500) as n`;
  await sql`update books set doc = replace(doc, '"created_at"', '"n":null,"created_at"') where id = first_id(7)`;
  const { steps, violations } = await planCollections(url, declarations);
  t.match(violations, [{ violating: 0 }], 'they count as they are afterwards');
  for (let killed = 0; killed < steps.length; killed++)
    await t.rejects(
      migrateCollections(url, declarations, {
        onStep: (_, index, of) => killedAt(Math.min(killed, of - 1))(_, index),
      }),
      /killed/,
    );
  await migrateCollections(url, declarations);
  t.strictSame((await planCollections(url, declarations)).steps, []);
  const { send } = await testService(t, { DATABASE_URL: url, COLLECTIONS: collections });
  for (const [state, total] of [
    ['new', 2501],
    ['done', 1],
  ])
    t.equal((await send('GET', `/books?page=1&limit=1&filter[state]=${state}`)).json.meta.total, total);
  const [row] =
    await sql`select count(*)::int as n from books where doc::json ->> 'n' = '0' and doc::json ->> 'state' = state`;
  t.equal(row!.n, 2502);
});

t.test('a member of an object that becomes required gets its default in stored records', async (t) => {
  const address = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });
  const text = { type: 'string' };
  const after = book({
    address: address(
      {
        city: text,
        country: { ...text, default: 'DE' },
        'a/b~': { type: 'integer', default: 0 },
        geo: address({ unit: { ...text, default: 'm' } }, { required: ['unit'] }),
      },
      { required: ['country', 'a/b~'] },
    ),
    added: address({ n: { type: 'number', default: 1 } }, { required: ['n'] }),
    lines: { type: 'array', items: address({ n: { ...text, default: 'x' } }) },
  });
  const { url, env, declarations } = await stored(
    t,
    book({ address: address({ city: text, geo: { type: 'object' } }) }),
    [
      { address: { city: 'Bonn' } },
      { address: { city: 'Ulm', country: 'AT', geo: {} }, added: {}, lines: [{}] },
      { name: 'none' },
    ],
    after,
  );
  const { steps, violations } = await planCollections(url, declarations);
  t.match(violations, [{ violating: 0 }]);
  const given = 'books.address/country, books.address/a~1b~0, books.address/geo/unit, books.added/n';
  t.match(steps[0]!.title, `Give ${given}`);
  await migrateCollections(url, declarations);
  t.strictSame((await planCollections(url, declarations)).steps, []);
  t.equal((await plinth(t, ['migrate', '--allow-drop'], env)).code, 0);
  const { send } = await testService(t, env);
  const records = (await send('GET', '/books')).json as Record<string, unknown>[];
  t.strictSame(
    records.map(({ address, added, lines }) => [address, added, lines]),
    [
      [{ city: 'Bonn', country: 'DE', 'a/b~': 0 }, undefined, undefined],
      [{ city: 'Ulm', country: 'AT', geo: { unit: 'm' }, 'a/b~': 0 }, { n: 1 }, [{}]],
      [undefined, undefined, undefined],
    ],
  );
});

t.test('a text that becomes a reference is checked like any other rule', async (t) => {
  const before = book({ name: { type: 'string' }, sequelId: { type: 'string', 'x-index': true } });
  const after = book({ name: { type: 'string' }, sequelId: { type: 'string', 'x-references': 'books' } });
  const NOWHERE = '00000000-0000-4000-8000-000000000000';
  const records = ['first', NOWHERE].map((sequelId) => ({ name: 'n', sequelId }));
  const { url, env, declarations } = await stored(t, before, [{ name: 'n' }, ...records], after);
  const sql = sqlOf(t, url);
  const [first] = await sql`select id from books order by id limit 1`;
  await sql`update books set doc = plinth_change(doc, jsonb_build_object('sequelId', ${first!.id}::text)), version = version + 1 where id = ${first!.id}`;
  const rejected = await migrateCollections(url, declarations).catch((error: Error) => error);
  t.match((rejected as Error).message, /2 of 3 records of books violate.*\/sequelId is the id of no book/s);
  const columns = await sql`select from pg_attribute where attname like 'sequel%$%'`;
  t.equal(columns.length, 0, 'nothing is changed');
  const listed = await plinth(t, ['migrate', '--violations'], env);
  t.equal(listed.out.match(/\/sequelId/g)?.length, 2, listed.out);

  await migrateCollections(url, declarations, { allowViolations: true });
  const service = await testService(t, env);
  const { json } = await service.send('GET', `/books?filter[sequelId]=${first!.id}&page=1`);
  t.strictSame(valuesOf(json.data, 'id'), [first!.id], 'only the record that refers to one');
  const all = (await service.send('GET', '/books')).json;
  t.strictSame(valuesOf(all, 'sequelId'), [first!.id, 'first', NOWHERE], 'the others are as they were');
});

t.test('records that repeat a unique value are reported before anything is changed', async (t) => {
  const text = { type: 'string' };
  const unique = { ...text, 'x-unique': true };
  const INTEGER = { 'x-normalize': ['integer'] };
  const TIMES = ['2026-01-01T00:00:00Z', '2026-01-01T01:00:00+01:00', '2026-01-01T00:00:00+01:00'];
  const rows: [says: string, before: object, after: object, values: unknown[], repeated: number][] = [
    ['text', text, unique, ['a', 'b', 'a', 'a', 'A'], 2],
    ['numbers', { type: 'number' }, { type: 'number', 'x-unique': true }, [1, 1, 0, -0, 0.5], 2],
    ['booleans', { type: 'boolean' }, { type: 'boolean', 'x-unique': true }, [true, true, false], 1],
    ['null is no value', { type: ['string', 'null'] }, unique, [null, null, 'a'], 0],
    ['points in time', unique, { ...unique, format: 'date-time' }, TIMES, 1],
    ['normalized text', unique, { ...unique, 'x-normalize': ['trim', 'lower'] }, ['Ann', 'ann ', 'Bob'], 1],
    ['a number that was text', unique, { ...unique, type: 'integer', ...INTEGER }, ['1', '01', '2'], 1],
  ];
  for (const [says, before, after, values, repeated] of some(rows, 2)) {
    const records = values.map((v) => ({ v }));
    const { url, env, declarations } = await stored(t, book({ v: before }), records, book({ v: after }));
    const { violations, steps } = await planCollections(url, declarations);
    t.match(violations, [{ violating: repeated, duplicates: repeated }], says);
    if (repeated === 0) continue;
    for (const args of [[], ['--allow-violations']]) {
      const refused = await plinth(t, ['migrate', ...args], env);
      t.equal(refused.code, 1, says);
      t.match(refused.err, /: \/v must be unique, and record [0-9a-f-]{36} has the value, too\n/, says);
      t.notMatch(refused.err, 'let them stay', says);
    }
    t.equal((await plinth(t, ['migrate', '--plan', '--allow-violations'], env)).code, 1, says);
    t.same((await planCollections(url, declarations)).steps, steps, `${says}: nothing is changed`);
    const listed = (await plinth(t, ['migrate', '--violations', '--json'], env)).out.trim().split('\n');
    t.equal(listed.length, repeated, says);
    const sql = openSql(url, { max: 1 });
    for (const line of listed) await sql`delete from books where id = ${JSON.parse(line).id}`;
    await sql.end();
    t.equal((await plinth(t, ['migrate'], env)).code, 0, says);
  }
});

t.test('a field with other steps of x-normalize is normalized in stored records', async (t) => {
  const { env } = await stored(
    t,
    book({
      email: { type: 'string', 'x-index': true, 'x-search': true },
      name: { type: 'string', 'x-normalize': ['trim'], 'x-index': true },
      pages: { type: ['string', 'integer'] },
      old: { type: 'string' },
    }),
    [{ email: ' Ann@Example.org', name: ' A b ', pages: '12', old: 'X' }, { pages: 3 }],
    book({
      email: { type: 'string', 'x-normalize': ['trim', 'lower'], 'x-index': true, 'x-search': true },
      name: { type: 'string', 'x-normalize': ['trim'], 'x-index': true },
      pages: { type: 'integer', 'x-normalize': ['integer'], 'x-index': true },
      new: { type: 'string', 'x-was': 'old', 'x-normalize': ['lower'] },
    }),
  );
  const planned = await plinth(t, ['migrate', '--plan'], env);
  t.equal(planned.code, 0, planned.out);
  t.match(planned.out, 'Normalize books.email, books.pages, books.new in the documents');
  t.equal((await plinth(t, ['migrate'], env)).code, 0);
  const { send } = await testService(t, env);
  const filters = ['filter[email]=ANN@example.org', 'filter[pages]=12', 'filter[name]=A%20b'];
  for (const query of [...filters, 'page=1&search=ann@e']) {
    const { data } = (await send('GET', `/books?${query}`)).json;
    t.match(data, [{ email: 'ann@example.org', name: 'A b', pages: 12, new: 'x' }], query);
  }
  t.notMatch((await plinth(t, ['migrate', '--allow-drop'], env)).out, 'Repeat');
});

t.test('a default that stored records get is found by filters of a column that exists', async (t) => {
  const state = { type: 'string', 'x-index': true };
  const { env } = await stored(
    t,
    book({ state }),
    [{ state: 'done' }, {}],
    book({ state: { ...state, default: 'new' } }, { required: ['state'] }),
  );
  t.equal((await plinth(t, ['migrate'], env)).code, 0);
  const { send } = await testService(t, env);
  t.match((await send('GET', '/books?filter[state]=new')).json, { meta: { total: 1 } });
  t.match((await send('GET', '/books?page=1&sort=state')).json.data, [{ state: 'done' }, { state: 'new' }]);
});

t.test('a stored text that is too long for a new index violates the declaration', async (t) => {
  const long = 'x'.repeat(2001);
  for (const [before, value] of [
    [{ type: 'string' }, long],
    [{ type: 'array', items: { type: 'string' } }, ['a', long]],
  ] as const) {
    const after = book({ v: { ...before, 'x-index': true } });
    const { url, declarations } = await stored(t, book({ v: before }), [{ v: value }], after);
    const examples = [/: \/v must not have more than 2000 bytes$/];
    t.match((await planCollections(url, declarations)).violations, [{ violating: 1, examples }]);
  }
});

t.test('all rules that a stored record violates are listed at once', async (t) => {
  const text = { type: 'string' };
  const tag = { type: 'array', items: text };
  const env = {
    COLLECTIONS: declare(t, {
      'books.json': { type: 'object', properties: { title: text, isbn: text, tags: tag, authorId: text } },
    }),
    DATABASE_URL: await undeclaredDatabase(t),
  };
  t.equal((await plinth(t, ['migrate'], env)).code, 0);
  const file = join(env.COLLECTIONS, 'records.csv');
  writeFileSync(
    file,
    `title,isbn,tags,authorId,gone\nlong,a,"[""long""]",${'0'.repeat(8)}-0000-7000-8000-000000000000,1\n`,
  );
  t.match(await plinth(t, ['import', file, '--as', 'books'], env), { code: 0 });
  writeFileSync(
    join(env.COLLECTIONS, 'books.json'),
    JSON.stringify({
      type: 'object',
      additionalProperties: false,
      required: ['state'],
      properties: {
        title: { ...text, maxLength: 3 },
        isbn: { ...text, pattern: '^[0-9]+$' },
        tags: { ...tag, items: { ...text, maxLength: 3 }, 'x-index': true },
        authorId: { ...text, 'x-references': 'users' },
        state: text,
      },
    }),
  );
  const { code, out } = await plinth(t, ['migrate', '--violations'], env);
  t.equal(code, 1);
  const lines = out.trimEnd().split('\n');
  const paths = lines.map((line) => /: (\/\S+|\S*) /.exec(line)?.[1]).sort();
  t.same(paths, ['/authorId', '/gone', '/isbn', '/state', '/tags/0', '/title'], out);
  t.equal(new Set(lines.map((line) => line.split(':')[0])).size, 1, 'of one record');
  const json = recordsIn((await plinth(t, ['migrate', '--violations', '--json'], env)).out);
  for (const each of json) t.equal(Object.keys(each).join(), 'collection,id,path,message,isDuplicate');
  t.match(await plinth(t, ['migrate', '--plan'], env), { code: 1, out: /1 of 1 records of books violate/ });
});
