import { CITUS_URL } from '../support/citus.js';
import { declare } from '../support/collections.js';
import { type SendOptions, type TestService, testService } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';

/** Requests whose responses the OpenAPI document has, and which no other test is about. */
type Row = readonly [method: string, path: string, options: SendOptions, status: number, code?: string];

const PAST = 'Thu, 01 Jan 2015 00:00:00 GMT';
const ABSENT = '01890000-0000-7000-8000-000000000000';
const LIBRARY = {
  'shelves.json': {
    title: 'Shelf',
    type: 'object',
    required: ['name'],
    properties: { name: { type: 'string', minLength: 1, 'x-index': true } },
  },
  'books.json': {
    title: 'Book',
    type: 'object',
    required: ['title'],
    properties: {
      title: { type: 'string', minLength: 1, 'x-index': true },
      isbn: { type: 'string', 'x-unique': true, maxLength: 13 },
      shelfId: { type: 'string', format: 'uuid', 'x-references': 'shelves', 'x-on-delete': 'restrict' },
      lenderId: { type: 'string', format: 'uuid', 'x-references': 'shelves' },
    },
    'x-collection': { nested: 'shelfId' },
  },
};

const merge = (body: object): SendOptions => ({ body, type: 'application/merge-patch+json' });
const jsonPatch = (...body: object[]): SendOptions => ({ body, type: 'application/json-patch+json' });
const given = (headers: Record<string, string>, body?: object): SendOptions =>
  body === undefined ? { headers } : { headers, body };

async function expectAll(t: Test, { send }: TestService, rows: readonly Row[]): Promise<void> {
  for (const [method, path, options, status, code] of rows) {
    const response = await send(method, path, options);
    t.equal(response.status, status, `${method} ${path}: ${response.text.slice(0, 200)}`);
    if (code !== undefined) t.match(response.text, `"code":"${code}"`);
  }
}

/** A shelf with one book. */
async function library(t: Test, env: Record<string, string> = {}) {
  const service = await testService(t, { COLLECTIONS: declare(t, LIBRARY), MIGRATE: 'auto', ...env });
  const shelf = (await service.send('POST', '/shelves', { body: { name: 'a' } })).json;
  const body = { title: 'Dune', isbn: '1', shelfId: shelf.id };
  const book = (await service.send('POST', '/books', { body })).json;
  return { service, shelf, book, books: `/shelves/${shelf.id}/books` };
}

t.test('errors of writes to all matching records', async (t) => {
  const { service, shelf } = await library(t);
  const all = '/shelves?filter[name]=a';
  await expectAll(t, service, [
    ['DELETE', all, {}, 409, 'REFERENCED'],
    ['DELETE', `/shelves/${shelf.id}`, {}, 409, 'REFERENCED'],
    ['DELETE', all, given({ 'if-none-match': '*' }), 412],
    ['PATCH', all, { ...merge({ name: 'b' }), headers: { 'if-unmodified-since': PAST } }, 412],
    ['PATCH', all, jsonPatch({ op: 'remove', path: '/absent' }), 422, 'UNPROCESSABLE_PATCH'],
  ]);
});

t.test('errors below a parent', async (t) => {
  const { service, books } = await library(t);
  const tag = String((await service.send('GET', `${books}?page=1`)).headers.etag);
  const missing = `/shelves/${ABSENT}/books`;
  await expectAll(t, service, [
    ['GET', `${books}?page=1`, given({ 'if-none-match': tag }), 304],
    ['GET', `${books}?page=1`, given({ 'if-match': '"none"' }), 412],
    ['QUERY', books, { body: {} }, 200],
    ['QUERY', missing, { body: {} }, 404, 'SHELF_NOT_FOUND'],
    ['QUERY', books, given({ 'if-match': '"none"' }, { limit: 5 }), 412],
    ['QUERY', '/books', given({ 'if-match': '"none"' }, { limit: 5 }), 412],
    ['POST', books, { body: { title: 'Copy', isbn: '1' } }, 409],
    ['POST', books, { body: { title: 'Borrowed', lenderId: ABSENT } }, 422, 'SHELF_NOT_FOUND'],
  ]);
  for (const path of [books, '/books']) {
    const { headers } = await service.send('QUERY', path, { body: { limit: 5 } });
    const again = await service.send(
      'QUERY',
      path,
      given({ 'if-none-match': String(headers.etag) }, { limit: 5 }),
    );
    t.equal(again.status, 304);
  }
  // Each group has a title and its two extremes: 100 of them exceed a megabyte, since a quote has two bytes in JSON.
  const operations = Array.from({ length: 100 }, (_, at) => ({
    method: 'POST',
    path: books,
    body: { title: `${'"'.repeat(1990)}${at}` },
  }));
  t.equal((await service.send('POST', '/batch', { body: { operations } })).status, 200);
  const [group, aggregate] = [['title'], ['min(title)', 'max(title)']];
  await expectAll(t, service, [
    ['GET', `${books}?group=${group}&aggregate=${aggregate}`, {}, 413, 'RESPONSE_TOO_LARGE'],
    ['GET', `/books?group=${group}&aggregate=${aggregate}`, {}, 413, 'RESPONSE_TOO_LARGE'],
    ['QUERY', books, { body: { group, aggregate } }, 413, 'RESPONSE_TOO_LARGE'],
  ]);
});

t.test('errors with TOMBSTONES and REQUIRE_IF_MATCH', async (t) => {
  const { service, shelf, book } = await library(t, { TOMBSTONES: 'on', REQUIRE_IF_MATCH: 'on' });
  const path = `/books/${book.id}`;
  const patch = { method: 'PATCH', path, body: { title: 'x' } };
  await expectAll(t, service, [
    ['PATCH', '/books?filter[title]=Dune', merge({ title: 'b' }), 428, 'PRECONDITION_REQUIRED'],
    ['DELETE', '/books?filter[title]=Dune', {}, 428, 'PRECONDITION_REQUIRED'],
    ['POST', '/batch', { body: { operations: [patch] } }, 428, 'PRECONDITION_REQUIRED'],
    ['PUT', '/books?filter[isbn]=1', { body: { title: 'b' } }, 428, 'PRECONDITION_REQUIRED'],
    ['PUT', path, given({ 'if-match': '"1"' }, { title: 'x', shelfId: ABSENT }), 422, 'SHELF_NOT_FOUND'],
    ['DELETE', path, given({ 'if-match': '"1"' }), 204],
    ['PUT', path, given({ 'if-match': '"1"' }, { title: 'x' }), 410, 'GONE'],
    ['PATCH', path, { ...merge({ title: 'x' }), headers: { 'if-match': '"1"' } }, 410, 'GONE'],
    ['POST', '/batch', { body: { operations: [{ ...patch, headers: { 'If-Match': '"1"' } }] } }, 410, 'GONE'],
  ]);
  t.equal((await service.send('GET', `/shelves/${shelf.id}`)).status, 200);
});

t.test('errors about webhooks', async (t) => {
  const service = await testService(t);
  const body = { url: 'https://example.org/hook', types: ['*'] };
  const { json } = await service.send('POST', '/webhooks', { body });
  await expectAll(t, service, [
    ['GET', `/webhooks/${json.id}`, given({ 'if-match': '"none"' }), 412],
    ['PUT', `/webhooks/${json.id}`, given({ 'if-match': '"none"' }, body), 412],
  ]);
  await sqlOf(t, service.databaseUrl)`insert into webhooks (id, url, types, description, enabled, secret)
    select gen_random_uuid(), url, types, description, enabled, secret from webhooks, generate_series(2, 1000)`;
  await expectAll(t, service, [['POST', '/webhooks', { body }, 409, 'TOO_MANY_WEBHOOKS']]);
});

t.test('a full database', async (t) => {
  const service = await testService(t);
  const run = sqlOf(t, service.databaseUrl);
  await run`create function refuse() returns trigger language plpgsql
    as $$ begin raise exception 'the disk is full' using errcode = 'disk_full'; end $$`;
  // Distributed tables have no triggers.
  const table = run(CITUS_URL === '' ? 'items' : 'events');
  await run`create trigger refuse before insert on ${table} for each row execute function refuse()`;
  const body = { name: 'x' };
  const operations = [{ method: 'POST', path: '/items', body }];
  await expectAll(t, service, [
    ['POST', '/items', { body }, 507, 'INSUFFICIENT_STORAGE'],
    ['POST', '/batch', { body: { operations } }, 507, 'INSUFFICIENT_STORAGE'],
  ]);
  await run`drop trigger refuse on ${table}`;
  t.equal((await service.send('POST', '/items', { body })).status, 201, 'there is room again');
});

t.test('a request line with another version of HTTP', async (t) => {
  const service = await testService(t);
  const response = await service.raw('GET /healthz HTTP/2.0\r\nHost: localhost\r\n\r\n', /\}\s*$/);
  t.match(response, /^HTTP\/1\.1 505 [\s\S]*"code":"VERSION_NOT_SUPPORTED"/);
});
