import { readDeclarations } from '../../src/declarations/read-declarations.js';
import { migrateCollections, planCollections } from '../../src/schema/migrate-collections.js';
import { declare } from '../support/collections.js';
import { startProcess } from '../support/process.js';
import { send } from '../support/send.js';
import { undeclaredDatabase } from '../support/service.js';
import { openSql } from '../support/sql.js';
import t, { type Test } from '../support/test.js';
import { until } from '../support/until.js';

type Fields = Readonly<Record<string, object>>;

const AUTHORS = { title: 'Author', type: 'object', properties: { name: { type: 'string' } } };
const FIELDS: Fields = {
  name: { type: 'string', 'x-index': true, 'x-search': true },
  isbn: { type: 'string', 'x-unique': true },
  price: { type: 'number', 'x-index': true },
  tags: { type: 'array', items: { type: 'string' }, 'x-index': true },
  note: { type: 'string' },
  authorId: { type: 'string', 'x-references': 'authors', 'x-on-delete': 'null' },
};
const books = (change: Fields = {}, more: object = {}) => ({
  title: 'Book',
  type: 'object',
  properties: Object.fromEntries(
    Object.entries({ ...FIELDS, ...change }).filter(([, field]) => 'type' in field),
  ),
  ...more,
});
const NONE = {};

/** Declarations by which a running service's are replaced: what the step is, and the files. */
const CHANGES: readonly [says: string, files: Readonly<Record<string, object>>][] = [
  [
    'indexes, unique values, a search and a reference are removed',
    {
      books: books({
        name: { type: 'string' },
        price: { type: 'number' },
        tags: { type: 'array', items: { type: 'string' } },
        isbn: { type: 'string' },
        authorId: { type: 'string' },
      }),
    },
  ],
  [
    'a reference restricts, and indexes are added',
    {
      books: books({
        authorId: { type: 'string', 'x-references': 'authors', 'x-on-delete': 'restrict' },
        note: { type: 'string', 'x-index': true, 'x-search': true },
      }),
    },
  ],
  [
    'indexed fields are renamed',
    {
      books: books({
        name: NONE,
        label: { type: 'string', 'x-was': 'name', 'x-index': true, 'x-search': true },
        price: NONE,
        cost: { type: 'number', 'x-was': 'price', 'x-index': true },
      }),
    },
  ],
  [
    'a field is hidden, one is dropped, and a required one has a default',
    {
      books: books(
        {
          note: { type: 'string', writeOnly: true },
          price: NONE,
          state: { type: 'string', default: 'new', 'x-index': true },
        },
        { required: ['state'] },
      ),
    },
  ],
  ['a collection is renamed', { works: books({}, { 'x-collection': { was: 'books' } }) }],
];

/** Writes, and reads, of a client that knows the former declaration; resolves to the unexpected responses. */
async function work(base: string, author: string, isDone: () => boolean, key: number): Promise<string[]> {
  const unexpected: string[] = [];
  const expect = async (statuses: readonly number[], method: string, path: string, body?: object) => {
    const response = await send(base, method, path, body === undefined ? {} : { body });
    if (!statuses.includes(response.status))
      unexpected.push(`${method} ${path} ${response.status} ${response.text.slice(0, 300)}`);
    return response;
  };
  for (let round = 0; round < 3 || !isDone(); round++) {
    const fields = { name: 'n', price: round, tags: ['a'], note: 'x', authorId: author };
    const isbn = `${key}-${round}`;
    const { json } = await expect([201], 'POST', '/books', { ...fields, isbn });
    const path = `/books/${json?.id}`;
    await expect([201, 409], 'POST', '/books', { ...fields, isbn });
    await expect([201, 422], 'POST', '/books', { ...fields, authorId: path.slice(7) });
    await expect([200], 'PATCH', path, { price: round + 1 });
    await expect([200], 'PUT', path, { ...fields, isbn, price: 5 });
    await expect([200], 'POST', '/batch', [
      { method: 'POST', path: '/books', body: fields },
      { method: 'PATCH', path, body: { name: 'm' } },
    ]);
    await expect([200], 'GET', '/books?page=1&limit=3&sort=-price');
    await expect([200], 'GET', '/books?search=nnn&page=1');
    await expect([200], 'GET', `/books?filter[price][gte]=2&limit=2&page=1`);
    await expect([200], 'GET', path);
    await expect([204], 'DELETE', path);
    if (round > 500) throw new Error('the migration does not end');
  }
  return unexpected;
}

async function migrateBeside(t: Test, files: Readonly<Record<string, object>>) {
  const url = await undeclaredDatabase(t);
  const folder = (all: Readonly<Record<string, object>>) =>
    declare(
      t,
      Object.fromEntries(
        Object.entries({ authors: AUTHORS, ...all }).map(([name, each]) => [`${name}.json`, each]),
      ),
    );
  const service = startProcess(t, {
    DATABASE_URL: url,
    COLLECTIONS: folder({ books: books() }),
    MIGRATE: 'auto',
    LOG_LEVEL: 'error',
  });
  const base = await service.ready();
  const author = (await send(base, 'POST', '/authors', { body: { name: 'Ann' } })).json.id;
  for (let n = 0; n < 5; n++)
    await send(base, 'POST', '/books', { body: { name: `b${n}`, price: n, note: 'y' } });
  const after = readDeclarations(folder(files));
  let isDone = false;
  let rounds = 0;
  const writers = [1, 2, 3].map((key) => work(base, author, () => ++rounds > 0 && isDone, key));
  await until('the writers write', () => rounds > 0);
  const planned = await planCollections(url, after);
  const executed: string[] = [];
  await migrateCollections(url, after, { onStep: ({ title }) => void executed.push(title) }).finally(() => {
    isDone = true;
  });
  const unexpected = (await Promise.all(writers)).flat();
  return { url, base, after, unexpected, executed, planned, service };
}

for (const [says, files] of CHANGES)
  t.test(`beside a service with the former declaration: ${says}`, async (t) => {
    const { url, after, unexpected, executed, planned, service } = await migrateBeside(t, files);
    t.strictSame(unexpected.slice(0, 5), [], 'no client sees an error');
    t.strictSame(
      executed,
      planned.steps.map(({ title }) => title),
      'the printed plan is what runs',
    );
    t.ok(executed.length > 0);
    t.strictSame((await planCollections(url, after)).steps, [], 'nothing is left to do');
    service.child.kill('SIGTERM');
    await service.ended;
    await migrateCollections(url, after, { allowDrop: true, allowViolations: true });
    const { steps, drops } = await planCollections(url, after);
    t.strictSame(
      [...steps, ...drops].map(({ title }) => title),
      [],
      'what the former service used is removed',
    );
    if (says === 'indexed fields are renamed') {
      const sql = openSql(url, { max: 1 });
      t.teardown(() => sql.end());
      const rows = await sql`select doc::json ->> 'label' as name, label from books`;
      t.strictSame(rows.filter(({ name, label }) => name === null || name !== label).length, 0);
    }
  });
