import { readDeclarations } from '../../src/declarations/read-declarations.js';
import { migrateCollections } from '../../src/schema/migrate-collections.js';
import { valuesOf } from '../support/callers.js';
import { declare } from '../support/collections.js';
import { plinth } from '../support/command.js';
import { killedAt, migrateTo, planFor, titlesFor } from '../support/plans.js';
import { startProcess } from '../support/process.js';
import { type SendOptions, send } from '../support/send.js';
import { undeclaredDatabase } from '../support/service.js';
import { SCHEMA, sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';
import { notInDefault, some } from '../support/thorough.js';
import { untilAtLeast } from '../support/until.js';

type Fields = Readonly<Record<string, object>>;

const text = { type: 'string' };
const AUTHORS = { title: 'Author', type: 'object', properties: { name: { ...text, 'x-index': true } } };
const FIELDS: Fields = {
  n: { type: 'integer', 'x-index': true },
  name: { ...text, 'x-index': true, 'x-search': true },
  note: text,
  code: { ...text, 'x-unique': true },
  price: { type: 'number', 'x-index': true },
  weight: { type: 'number' },
  authorId: { ...text, 'x-references': 'authors', 'x-on-delete': 'null' },
  readerIds: {
    type: 'array',
    maxItems: 9,
    items: { ...text, 'x-references': 'authors', 'x-on-delete': 'remove' },
  },
};
/** References to other records of the collection. */
const own = (collection: string): Fields => ({
  sequelId: { ...text, 'x-references': collection, 'x-on-delete': 'null' },
  similarIds: {
    type: 'array',
    maxItems: 9,
    items: { ...text, 'x-references': collection, 'x-on-delete': 'remove' },
  },
});
const books = (change: Fields = {}, more: object = {}) => {
  const fields = Object.entries({ ...FIELDS, ...own('books'), ...change });
  const present = fields.filter(([, field]) => 'type' in field);
  return { title: 'Book', type: 'object', properties: Object.fromEntries(present), ...more };
};
const NONE = {};
/** A field with another name. */
const renamed = (from: string, to: string, more: object = {}): Fields => ({
  [from]: NONE,
  [to]: { ...FIELDS[from], 'x-was': from, ...more },
});
const works = (change: Fields = {}) =>
  books({ ...own('works'), ...change }, { 'x-collection': { was: 'books' } });
const REFERENCES = { ...renamed('authorId', 'writerId'), ...renamed('readerIds', 'fanIds') };
const OF_WORKS = { ...renamed('note', 'remark'), ...renamed('price', 'cost') };
const NO_REFERENCES = { authorId: undefined, readerIds: undefined };

/** The changes that need a window: the declaration after each, and the fields of a record after it. */
const WINDOWS: readonly [says: string, after: object, shown: (n: number) => object][] = [
  [
    'an indexed field is renamed',
    books(renamed('name', 'label')),
    (n) => ({ label: `B${n}`, name: undefined }),
  ],
  [
    'a field without a column is renamed',
    books(renamed('note', 'remark')),
    (n) => ({ remark: `N${n}`, note: undefined }),
  ],
  ['references are renamed', books(REFERENCES), () => ({ writerId: /^0/, fanIds: [/^0/], ...NO_REFERENCES })],
  ['a unique field is renamed', books(renamed('code', 'isbn')), (n) => ({ isbn: `c${n}`, code: undefined })],
  ['a collection is renamed', works(), (n) => ({ note: `N${n}` })],
  ['a collection and its fields are renamed', works(OF_WORKS), (n) => ({ remark: `N${n}`, cost: n })],
  ['an indexed number becomes a text', books({ price: { ...text, 'x-index': true } }), (n) => ({ price: n })],
  ['a number without a column becomes a text', books({ weight: text }), (n) => ({ weight: n })],
  [
    'a reference becomes a text',
    books({ authorId: { ...text, 'x-index': true } }),
    () => ({ authorId: /^0/ }),
  ],
  [
    'a text is normalized',
    books({ note: { ...text, 'x-normalize': ['lower'] } }),
    (n) => ({ note: `n${n}` }),
  ],
  [
    'an indexed text is normalized',
    books({ name: { ...FIELDS.name!, 'x-normalize': ['lower'] } }),
    (n) => ({ name: `b${n}` }),
  ],
  ['a field becomes write-only', books({ note: { ...text, writeOnly: true } }), () => ({ note: undefined })],
];

const folderOf = (t: Test, collection: string, declaration: object) =>
  declare(t, { 'authors.json': AUTHORS, [`${collection}.json`]: declaration });

const start = (t: Test, DATABASE_URL: string, COLLECTIONS: string, MIGRATE = 'check') =>
  startProcess(t, { DATABASE_URL, COLLECTIONS, MIGRATE, LOG_LEVEL: 'fatal' });

/** Writes books, one after the other, until a response is an error, and gives the ids of those that were confirmed. */
function writer(base: string, authorId: string) {
  const confirmed: string[] = [];
  const ended = (async () => {
    for (let n = 0; ; n++) {
      const response = await send(base, 'POST', '/books', { body: book(n, authorId) });
      if (response.status !== 201) return response;
      confirmed.push(response.json.id);
    }
  })();
  return { confirmed, ended };
}

const book = (n: number, authorId: string) => ({
  ...{ n, name: `B${n}`, note: `N${n}`, code: `c${n}`, price: n, weight: n },
  ...{ authorId, readerIds: [authorId] },
});

for (const [says, after, shown] of some(WINDOWS, notInDefault ? 2 : 4))
  t.test(`a window under writes: ${says}`, async (t) => {
    const collection = 'x-collection' in after ? 'works' : 'books';
    const url = await undeclaredDatabase(t);
    const formerFolder = folderOf(t, 'books', books());
    const [former, folder] = [start(t, url, formerFolder, 'auto'), folderOf(t, collection, after)];
    const base = await former.ready();
    const authorId = (await send(base, 'POST', '/authors', { body: { name: 'Ann' } })).json.id;
    const { confirmed, ended } = writer(base, authorId);
    await untilAtLeast('some are written', () => confirmed.length, 10);

    t.match(
      (await titlesFor(url, folder)).find((title) => title.includes('in a window')),
      'services with the former declaration respond 503 for books until they are restarted',
    );
    await migrateTo(url, folder, { allowViolations: true });

    const unavailable = {
      status: 503,
      json: { error: { code: 'SERVICE_UNAVAILABLE' } },
      headers: { 'retry-after': /^\d+$/ },
    };
    t.match(await ended, unavailable, 'the first error of the writer is the fence');
    const id = confirmed[0]!;
    const requests: [method: string, path: string, options?: SendOptions][] = [
      ['GET', `/books/${id}`],
      ['GET', '/books'],
      ['GET', '/books?page=1&limit=5'],
      ['GET', '/books?filter[name]=B1&sort=-price'],
      ['GET', `/books?filter[readerIds][has]=${authorId}&search=b`],
      ['POST', '/books', { body: { name: 'x' } }],
      ['PUT', `/books/${id}`, { body: { name: 'x' } }],
      ['PATCH', `/books/${id}`, { body: { name: 'x' } }],
      ['DELETE', `/books/${id}`],
      ['DELETE', `/books/${id}`, { headers: { 'If-Match': '"1"' } }],
    ];
    for (const [method, path, options] of requests)
      t.match(await send(base, method, path, options), unavailable, `${method} ${path}`);
    t.match(await send(base, 'GET', '/authors'), { status: 200, json: { length: 1 } }, 'others are served');
    t.equal((await send(base, 'POST', '/authors', { body: { name: 'Bob' } })).status, 201);

    t.equal(await start(t, url, formerFolder).ended, 78, 'the former declaration is refused at a start');
    t.strictSame((await planFor(url, folder)).steps, [], 'nothing is left to do');
    const present = await start(t, url, folder).ready();
    const records = (await send(present, 'GET', `/${collection}`)).json;
    t.strictSame(valuesOf(records, 'id'), confirmed, 'all confirmed writes are there, and no other');
    for (const record of records) t.match(record, shown(record.n));
    t.equal((await send(present, 'POST', `/${collection}`, { body: {} })).status, 201);
    const { meta } = (await send(present, 'GET', `/${collection}?page=1&limit=1`)).json;
    t.equal(meta.total, confirmed.length + 1);
    t.equal((await send(present, 'DELETE', `/${collection}/${id}`)).status, 204);
    const create = async (body: object) => (await send(present, 'POST', `/${collection}`, { body })).json.id;
    const second = await create({});
    const first = await create({ sequelId: second, similarIds: [second] });
    t.equal((await send(present, 'DELETE', `/${collection}/${second}`)).status, 204);
    const { sequelId, similarIds = [] } = (await send(present, 'GET', `/${collection}/${first}`)).json;
    t.same([sequelId, similarIds], [undefined, []]);
    // The references of the record are followed.
    t.equal((await send(present, 'DELETE', `/authors/${authorId}`)).status, 204);
    const events = (await send(present, 'GET', '/events?limit=1000')).json.data;
    t.notMatch(valuesOf(events, 'type').join(), /\$/, 'events have the name of the collection');

    const env = { DATABASE_URL: url, COLLECTIONS: folder };
    t.equal((await plinth(t, ['migrate', '--allow-drop', '--allow-violations'], env)).code, 0);
    const sql = sqlOf(t, url);
    const views =
      await sql`select relname from pg_class where relkind = 'v' and relnamespace = ${SCHEMA}::regnamespace`;
    t.strictSame([...views], []);
    t.strictSame(await titlesFor(url, folder), []);
    t.equal((await send(present, 'GET', `/${collection}`)).status, 200, 'the drops disturb no service');
  });

t.test('a window that was interrupted is completed, and former declarations are refused', async (t) => {
  const after = books({ ...renamed('note', 'remark'), price: { ...text, 'x-index': true } });
  const [formerFolder, folder] = [folderOf(t, 'books', books()), folderOf(t, 'books', after)];
  const former = async () => {
    const url = await undeclaredDatabase(t);
    await migrateTo(url, formerFolder);
    return url;
  };
  const { steps } = await planFor(await former(), folder);
  t.ok(steps.length > 5);
  for (const [killed] of steps.entries()) {
    if (killed === 0) continue;
    const url = await former();
    const sql = sqlOf(t, url);
    await sql.unsafe(`insert into ${SCHEMA}.books (id, updated_at, doc)
      select first_id(1), now(), '{"id":"' || first_id(1) || '","note":"N","created_at":"1970-01-01T00:00:00.001Z","updated_at":"1970-01-01T00:00:00.001Z","_version":1}'`);
    await t.rejects(migrateTo(url, folder, { onStep: killedAt(killed) }), /killed/);
    // A service with the former declaration does not start.
    t.match((await titlesFor(url, formerFolder))[0], 'Give the table of books the name books$3');
    t.notMatch((await titlesFor(url, folder)).join(), 'in a window', 'there is one window');
    await migrateTo(url, folder);
    t.strictSame((await planFor(url, folder)).steps, []);
    t.match(await sql.unsafe(`select doc::json ->> 'remark' as remark from ${SCHEMA}.books$2`), [
      { remark: 'N' },
    ]);
    const work = await sql`select 1 from plinth_document_work where state in ('window', 'repeat')`;
    t.equal(work.length, 0);
  }
});

t.test('changes that need no window give no table another name', async (t) => {
  const rows: readonly [says: string, change: Fields, more?: object][] = [
    ['a new field', { more: { ...text, 'x-index': true } }],
    ['a new write-only field', { more: { ...text, writeOnly: true } }],
    ['an index', { note: { ...text, 'x-index': true } }],
    ['no index', { name: text }],
    ['no reference', { authorId: text }],
    ['a wider type', { weight: { type: ['number', 'null'] } }],
    ['an integer that may be a number', { n: { type: 'number', 'x-index': true } }],
    ['a narrower type', { weight: { type: 'integer' } }],
    ['no type', { weight: { title: 'Weight' } }],
    ['a length', { note: { ...text, maxLength: 9 } }],
    ['a field that is dropped', { note: NONE }],
    ['a default', { note: { ...text, default: 'x' } }, { required: ['note'] }],
    ['a title', {}, { title: 'Paper' }],
    ['history', {}, { 'x-collection': { history: true } }],
  ];
  const url = await undeclaredDatabase(t);
  await migrateTo(url, folderOf(t, 'books', books()));
  for (const [says, change, more] of rows) {
    const fields = Object.entries({ ...FIELDS, ...change }).filter(([, field]) => field !== NONE);
    const after = { ...books({}, more), properties: Object.fromEntries(fields) };
    const { steps, fenced } = await planFor(url, folderOf(t, 'books', after));
    t.strictSame(fenced, [], says);
    t.notMatch(steps.map(({ title }) => title).join(), 'in a window', says);
  }
});

t.test('a file of DATA_CHANGES names a table by its collection', async (t) => {
  const url = await undeclaredDatabase(t);
  await migrateTo(url, folderOf(t, 'books', books()));
  const after = readDeclarations(folderOf(t, 'books', books(renamed('note', 'remark'))));
  await migrateCollections(url, after);
  const sql = sqlOf(t, url);
  await sql.unsafe(`insert into ${SCHEMA}.books$2 (id, updated_at, doc)
    select first_id(1), now(), '{"id":"' || first_id(1) || '","remark":"N","created_at":"1970-01-01T00:00:00.001Z","updated_at":"1970-01-01T00:00:00.001Z","_version":1}'`);
  const file = {
    name: '1.sql',
    checksum: 'x',
    text: `update books set doc = plinth_change(doc, '{"remark":"M"}');`,
  };
  await migrateCollections(url, { ...after, sqlFiles: [file] });
  t.match(await sql.unsafe(`select doc::json ->> 'remark' as remark, version from ${SCHEMA}.books$2`), [
    { remark: 'M', version: 2 },
  ]);
});
