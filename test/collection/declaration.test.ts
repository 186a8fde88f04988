import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compact } from '../../src/db/row-counts.js';
import { valuesOf } from '../support/callers.js';
import { declare } from '../support/collections.js';
import { makeKey } from '../support/credentials.js';
import { load } from '../support/load.js';
import { testService, undeclaredDatabase } from '../support/service.js';
import { openSql, SCHEMA } from '../support/sql.js';
import t, { type Test } from '../support/test.js';
import { some, times } from '../support/thorough.js';
import { until } from '../support/until.js';
import { words } from '../support/words.js';

const DECLARATIONS = {
  'users.json': {},
  'items.json': {},
  'posts.json': {},
  'authors.json': {
    title: 'Author',
    type: 'object',
    required: ['pen'],
    properties: { pen: { type: 'string', minLength: 1, 'x-normalize': ['trim'], 'x-unique': true } },
    'x-collection': { requireIfMatch: true },
  },
  'books.json': {
    title: 'Book',
    type: 'object',
    required: ['authorId'],
    properties: { authorId: { type: 'string', 'x-references': 'authors', 'x-on-delete': 'cascade' } },
    'x-collection': { nested: true },
  },
};

/** A service with two collections besides its own. */
async function library(t: Test, env: Record<string, string> = {}) {
  return testService(t, { COLLECTIONS: declare(t, DECLARATIONS), MIGRATE: 'auto', ...env });
}

t.test('a collection is a declaration', async (t) => {
  const { send } = await library(t);
  const created = await send('POST', '/api/v1/authors', { body: { pen: ' Ann ', tag: 1 } });
  t.match(created, { status: 201, json: { pen: 'Ann', tag: 1, _version: 1 } });
  t.equal(created.json._links.books.href, `/authors/${created.json.id}/books`);
  const path = created.headers.location!;
  t.match((await send('POST', '/authors', { body: {} })).json.errors, [{ path: '/pen' }]);
  t.match(await send('POST', '/authors', { body: { pen: 'Ann' } }), {
    status: 409,
    json: { error: { code: 'DUPLICATE', details: { field: 'pen' } } },
  });
  t.equal((await send('PATCH', path, { body: { tag: 2 } })).status, 428, 'its declaration requires If-Match');
  t.match(await send('PATCH', path, { body: { tag: 2 }, headers: { 'if-match': '"1"' } }), {
    status: 200,
    json: { tag: 2 },
  });
  t.match((await send('GET', '/authors')).json, [{ pen: 'Ann' }]);
  t.match((await send('GET', '/authors?page=1')).json.meta, { total: 1 });

  t.equal((await send('POST', `${path}/books`, { body: { title: 'A' } })).status, 201);
  t.match(await send('GET', `${path}/books`), {
    status: 200,
    json: [{ title: 'A', authorId: created.json.id }],
  });
  const nobody = '01900000-0000-7000-8000-000000000000';
  t.match(await send('POST', '/books', { body: { authorId: nobody } }), {
    status: 422,
    json: { error: { code: 'AUTHOR_NOT_FOUND', message: 'No such author exists.' } },
  });
  t.match(await send('GET', `/authors/${nobody}/books`), {
    status: 404,
    json: { error: { code: 'AUTHOR_NOT_FOUND' } },
  });

  t.equal((await send('DELETE', path, { headers: { 'if-match': '"2"' } })).status, 204);
  t.equal((await send('GET', path)).status, 404);
  t.match((await send('GET', '/books?page=1')).json.meta, { total: 0 }, 'deleted with their parent');
  const types = async () =>
    valuesOf((await send('GET', '/events?types=authors.*,books.*')).json.data, 'type');
  await until('all events are final', types, ({ length }) => length === 5);
  t.same(await types(), words('authors.created authors.updated books.created authors.deleted books.deleted'));
  t.match((await send('GET', '/metrics')).text, /collection="authors"/);
});

t.test('the scope self grants nothing in a collection whose parents are not users', async (t) => {
  const { send, db } = await library(t, { AUTH: 'api-key' });
  const { key } = await makeKey(db, { scopes: ['self'] });
  const headers = { 'x-api-key': key };
  for (const path of ['/authors', '/books', '/authors/01900000-0000-7000-8000-000000000000/books'])
    t.equal((await send('POST', path, { headers, body: {} })).status, 403, path);
  t.equal((await send('GET', '/events?types=books.*', { headers })).status, 403);
});

t.test('records of declared collections are imported, with references to their new parents', async (t) => {
  const { send, collections, databaseUrl } = await library(t);
  const records = {
    books: [{ authorId: '7' }, { authorId: '8' }],
    authors: [{ id: '7', pen: 'Ann' }, { pen: '' }],
  };
  const resources = collections.map(({ resource }) => resource);
  const { refusals } = await load({ url: databaseUrl, resources }, records);
  t.match(refusals, [/^authors\[1\]\/pen: /, /^books\[1\]\/authorId: AUTHOR_NOT_FOUND/]);
  t.match((await send('GET', '/books')).json, [{ authorId: (await send('GET', '/authors')).json[0].id }]);
});

t.test('concurrent batches lock the records of declared collections in one order', async (t) => {
  // With five connections, 160 transactions may wait.
  const { send } = await library(t, { DB_CONNECTIONS: '5' });
  const paths: string[] = [];
  for (let n = 0; n < 2; n++) {
    const author = await send('POST', '/authors', { body: { pen: `A${n}` } });
    const book = await send('POST', `/authors/${author.json.id}/books`, { body: { n } });
    paths.push(`/books/${book.json.id}`, `/authors/${author.json.id}`);
  }
  const statuses = await Promise.all(
    Array.from({ length: times(60, 160) }, async (_, n) => {
      // Every second pair of batches writes one record of each collection.
      const some = n % 4 < 2 ? paths : paths.slice(0, 2);
      const order = n % 2 === 0 ? some : some.toReversed();
      const operations = order.map((path) => ({
        method: 'PATCH',
        path,
        headers: { 'if-match': '*' },
        body: { changedBy: n },
      }));
      const response = await send('POST', '/batch', { body: operations });
      return response.status === 200 ? 200 : response.text;
    }),
  );
  t.same([...new Set(statuses)], [200]);
});

t.test('no code knows a collection by its name, except the sign-in of users', async (t) => {
  const src = fileURLToPath(new URL('../../../src/', import.meta.url));
  // `/items/x-references` and, in declarations/, `items` are the keyword of JSON Schema.
  const names = /['"`/](users|items|posts)['"`/?](?!x-)|\buser_id\b|\bUSER_NOT_FOUND\b/;
  const namesBesideKeyword = /['"`/](users|posts)['"`/?]|\buser_id\b|\bUSER_NOT_FOUND\b/;
  const found: string[] = [];
  for (const file of readdirSync(src, { recursive: true, encoding: 'utf8' })) {
    const isExempt =
      /^(auth\/|passwords\/|features\/user-accounts\/|features\/issuer\/passkey-commands\.ts)/.test(file);
    if (!file.endsWith('.ts') || isExempt) continue;
    const code = readFileSync(join(src, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');
    if ((file.startsWith('declarations/') ? namesBesideKeyword : names).test(code)) found.push(file);
  }
  t.same(found, []);
});

t.test('the first start creates the tables of an empty database, also with MIGRATE=check', async (t) => {
  const DATABASE_URL = await undeclaredDatabase(t);
  const first = await testService(t, {
    DATABASE_URL,
    COLLECTIONS: declare(t, DECLARATIONS),
    MIGRATE: 'check',
  });
  t.equal((await first.send('GET', '/books')).status, 200);
  await first.stop();
  const next = declare(t, { ...DECLARATIONS, 'pens.json': { type: 'object', properties: {} } });
  await t.rejects(
    testService(t, { DATABASE_URL, COLLECTIONS: next, MIGRATE: 'check' }),
    /plinth migrate[\s\S]*Create the table pens[\s\S]*create table public_collections.pens/,
  );
});

t.test('an internal error is a 500 with the request id, and reveals nothing else', async (t) => {
  const service = await testService(t);
  const { json } = await service.send('POST', '/items', { body: { name: 'x' } });
  const sql = openSql(service.databaseUrl, { max: 1 });
  await sql.unsafe('alter table items rename column doc to document');
  const response = await service.send('GET', `/items/${json.id}`, { headers: { 'x-request-id': 'abc' } });
  t.equal(response.status, 500);
  t.equal(response.json.error.requestId, 'abc');
  t.notOk('details' in response.json.error);
  t.notMatch(response.text, /column|document|select/);
  t.match(
    (await service.send('GET', `/items/${json.id}`, { headers: { accept: 'application/problem+json, */*' } }))
      .json,
    {
      status: 500,
      code: 'INTERNAL_ERROR',
      requestId: /./,
    },
  );
  await sql.unsafe('alter table items rename column document to doc');
  await sql.end();
  t.equal((await service.send('GET', `/items/${json.id}`)).status, 200);
});

/** Names that statements could give to a part of themselves, for which that part would hide the table. */
const AMBIGUOUS_NAMES = words(`
  found delta list located start written created removed changed given referring bucket large moment cut parts
  compacted compare value element key
`);

t.test('no name of a collection has another meaning in a statement', async (t) => {
  const names = some(AMBIGUOUS_NAMES, 3);
  const files = names.map((name) => {
    const properties = {
      name: { type: 'string', 'x-index': true, 'x-search': true },
      otherId: { type: 'string', 'x-references': name, 'x-on-delete': 'null' },
    };
    return [`${name}.json`, { type: 'object', properties, 'x-collection': { list: 'page' } }];
  });
  const env = { COLLECTIONS: declare(t, Object.fromEntries(files)), MIGRATE: 'auto' };
  const { send, db } = await testService(t, env);
  for (const name of names) {
    const { id } = (await send('POST', `/${name}`, { body: { name: 'first' } })).json;
    const path = `/${name}/${id}`;
    const operation = { method: 'POST', path: `/${name}`, body: { name: 'second', otherId: id } };
    const update = { method: 'PATCH', path, body: { name: 'third' } };
    const statuses = [
      await send('POST', '/batch', { body: [operation, operation] }),
      await send('POST', '/batch', { body: [update, operation] }),
      await send('PUT', path, { body: { name: 'fourth' } }),
      await send('PUT', path, { body: { name: 'fifth' }, headers: { 'if-match': '"3"' } }),
      await send('GET', `/${name}?page=1`),
      await send('GET', `/${name}?page=600&limit=1`),
      await send('GET', `/${name}?page=600&limit=1&sort=name`),
      await send('GET', `/${name}?page=1&search=second`),
      await send('GET', `/${name}?page=1&search=se`),
      await send('GET', `/api/v2/${name}?sort=-name`),
      await send('PATCH', `/${name}?filter[name]=second`, { body: { name: 'sixth' } }),
      await send('DELETE', path, { headers: { 'if-match': '"4"' } }),
    ].map(({ status }) => status);
    t.ok(
      statuses.every((status) => status < 300),
      `${name}: ${statuses}`,
    );
    const { data } = (await send('GET', `/${name}?include=other,${name}&limit=5`)).json;
    t.match(data, [{ _included: { other: null, [name]: [] } }], name);
    t.equal(await compact(db, SCHEMA, name, 1000), false, name);
  }
});
