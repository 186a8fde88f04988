import Papa from 'papaparse';
import { CITUS_URL } from '../support/citus.js';
import { declare } from '../support/collections.js';
import { type ServiceResponse, testService } from '../support/service.js';
import t, { type Test } from '../support/test.js';

t.jobs = 2;

const CSV = 'text/csv';
const NDJSON = 'application/x-ndjson';

const DECLARATIONS = {
  'authors.json': {
    title: 'Author',
    type: 'object',
    required: ['name'],
    properties: { name: { type: 'string', 'x-index': true } },
  },
  'books.json': {
    title: 'Book',
    type: 'object',
    required: ['title'],
    properties: {
      title: { type: 'string', 'x-index': true, 'x-search': true },
      price: { type: 'number', 'x-index': true },
      published: { type: 'string', format: 'date-time', 'x-index': true },
      inPrint: { type: 'boolean', 'x-index': true },
      tags: { type: 'array', items: { type: 'string' }, 'x-index': true },
      secret: { type: 'string', writeOnly: true },
      authorId: { type: 'string', format: 'uuid', 'x-references': 'authors' },
    },
    'x-collection': { list: 'page', sort: '-created_at', nested: true },
  },
};

const BOOKS = [
  {
    title: 'Dune',
    price: 10,
    tags: ['sf', 'desert'],
    inPrint: true,
    published: '1965-08-01T00:00:00Z',
    secret: 's',
  },
  { title: 'Say "hi", twice\nor more', price: 12.5, tags: ['sf'], inPrint: false },
  { title: '=1+1', price: -5, published: '1815-12-23T00:00:00+01:00' },
  { title: 'Éclair, 100%', price: 5, notes: { cake: true } },
  { title: 'Zebra' },
];

async function library(t: Test, env: Record<string, string> = {}) {
  const service = await testService(t, { COLLECTIONS: declare(t, DECLARATIONS), MIGRATE: 'auto', ...env });
  const author = (await service.send('POST', '/authors', { body: { name: 'Herbert' } })).json;
  for (const [index, book] of BOOKS.entries()) {
    const body = index < 2 ? { ...book, authorId: author.id } : book;
    t.equal((await service.send('POST', '/books', { body })).status, 201);
  }
  const get = (path: string, accept: string) => service.send('GET', path, { headers: { accept } });
  return { service, author, get };
}

const recordsOf = ({ text }: ServiceResponse) =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
const rowsOf = ({ text }: ServiceResponse) => Papa.parse<string[]>(text).data.slice(0, -1);

const COLUMNS = 'id,title,price,published,inPrint,tags,authorId,created_at,updated_at,_version';

t.test('NDJSON: a document in each line', async (t) => {
  const { get } = await library(t);
  const array = await get('/books?page=1&limit=100', 'application/json');
  const lines = await get('/books', NDJSON);
  t.equal(lines.status, 200);
  t.equal(lines.headers['content-type'], NDJSON);
  t.match(lines.headers.vary, /^Accept/);
  t.match(lines.headers['events-cursor'], /\w/);
  t.equal(lines.headers.link, undefined);
  t.same(recordsOf(lines), array.json.data, 'all, in the order of the list');
  t.ok(lines.text.endsWith('}\n'));
  t.notMatch(lines.text, /secret/);
  const page = await get('/books?page=1&limit=100', NDJSON);
  t.equal(page.text, lines.text);
});

t.test('CSV: the declared columns of each record', async (t) => {
  const { get } = await library(t);
  const csv = await get('/books', CSV);
  t.equal(csv.status, 200);
  t.equal(csv.headers['content-type'], 'text/csv; charset=utf-8; header=present');
  const { data } = (await get('/books?page=1', 'application/json')).json;
  const rows = rowsOf(csv);
  t.equal(rows[0]!.join(','), COLUMNS, 'fields that are not declared are no columns');
  t.equal(rows.length, 6);
  t.same(
    rows.slice(1).map(([id]) => id),
    data.map(({ id }: { id: string }) => id),
  );
  const byTitle = new Map(rows.map((row) => [row[1], row]));
  t.same(byTitle.get('Dune')!.slice(2, 6), ['10', '1965-08-01T00:00:00Z', 'true', '["sf","desert"]']);
  t.ok(byTitle.has('Say "hi", twice\nor more'), 'quoted');
  t.ok(byTitle.has("'=1+1"), 'a formula is defused');
  t.equal(byTitle.get("'=1+1")![2], '-5', 'a number is a number');
  t.ok(byTitle.has('Éclair, 100%'));
  t.same(byTitle.get('Zebra')!.slice(2, 7), ['', '', '', '', '']);
  t.equal((await get('/books?page=1&limit=100', CSV)).text, csv.text, 'a page is the same');
});

t.test('pages: links and the total are header fields', async (t) => {
  const { get, service } = await library(t);
  for (const accept of [CSV, NDJSON]) {
    const page = await get('/books?page=2&limit=2&sort=title', accept);
    t.equal(page.headers['x-total-count'], '5');
    t.equal(
      page.headers.link,
      '</books?page=2&limit=2&sort=title>; rel="self", </books?page=3&limit=2&sort=title>; rel="next", ' +
        '</books?page=1&limit=2&sort=title>; rel="prev", </books?page=1&limit=2&sort=title>; rel="first", ' +
        '</books?page=3&limit=2&sort=title>; rel="last"',
    );
    t.equal(page.text.trimEnd().split(/\r?\n(?=[{0])/).length, accept === CSV ? 3 : 2);
    const unchanged = await service.send('GET', '/books?page=2&limit=2&sort=title', {
      headers: { accept, 'if-none-match': page.headers.etag! },
    });
    t.equal(unchanged.status, 304);
    const json = await get('/books?page=2&limit=2&sort=title', 'application/json');
    t.not(json.headers.etag, page.headers.etag);
    t.equal(json.headers.link, undefined);
    const uncounted = await get('/books?limit=2&count=none', accept);
    t.equal(uncounted.headers['x-total-count'], undefined);
    t.match(uncounted.headers.link, /rel="next"/);
    t.notMatch(uncounted.headers.link, /rel="last"/);
    const head = await service.send('HEAD', '/books?page=2&limit=2&sort=title', { headers: { accept } });
    t.equal(head.headers.link, page.headers.link);
    t.equal(head.headers.etag, page.headers.etag);
  }
});

t.test('fields and include', async (t) => {
  const { get, author } = await library(t);
  const some = recordsOf(await get('/books?fields=price,title&filter[price]=10', NDJSON));
  t.same(Object.keys(some[0]), ['id', 'title', 'price']);
  const columns = rowsOf(await get('/books?fields=price,notes,title', CSV));
  t.same(columns[0], ['id', 'price', 'notes', 'title'], 'as the query names them');
  t.ok(
    columns.some(([, , notes]) => notes === '{"cake":true}'),
    'also one that is not declared',
  );
  const including = await get('/books?include=author&filter[price]=10', NDJSON);
  t.match(recordsOf(including)[0]._included.author, { name: 'Herbert' });
  t.equal(including.headers['x-total-count'], '1', 'it is a page');
  const csv = rowsOf(await get('/books?include=author&fields=title&filter[price]=10', CSV));
  t.same(csv[0], ['id', 'title', '_included']);
  t.equal(JSON.parse(csv[1]![2]!).author.id, author.id);
});

t.test('nested lists and QUERY', async (t) => {
  const { get, author, service } = await library(t);
  const nested = await get(`/authors/${author.id}/books`, NDJSON);
  t.equal(recordsOf(nested).length, 2);
  t.equal(recordsOf(await get(`/authors/${author.id}/books?filter[price]=10`, NDJSON)).length, 1);
  t.equal(rowsOf(await get(`/authors/${author.id}/books`, CSV)).length, 3);
  t.equal((await get('/authors/01890000-0000-7000-8000-000000000000/books', CSV)).status, 404);
  const query = await service.send('QUERY', '/books', {
    body: { filter: { price: { gte: 10 } }, sort: ['price', 'title'] },
    headers: { accept: NDJSON },
  });
  t.same(
    recordsOf(query).map(({ price }) => price),
    [10, 12.5],
  );
  t.match(query.headers.location, /filter/);
});

t.test('an empty list; weights; 406', async (t) => {
  const { send } = await testService(t);
  const get = (accept: string, path = '/items') => send('GET', path, { headers: { accept } });
  t.equal((await get(NDJSON)).text, '');
  t.equal((await get(NDJSON, '/users')).text, '');
  t.equal((await get(NDJSON, '/items?page=1')).text, '');
  t.equal((await get(CSV)).text, 'id,name,price,created_at,updated_at,_version\r\n');
  t.equal((await get(CSV, '/items?page=1')).text, 'id,name,price,created_at,updated_at,_version\r\n');
  t.notMatch((await get(CSV, '/users')).text, /password/);
  t.match((await get('text/csv;q=0.5, application/x-ndjson')).headers['content-type'], /ndjson/);
  t.match((await get('text/*')).headers['content-type'], /html/);
  t.match((await get('*/*')).headers['content-type'], /json/);
  const refused = await get('image/png');
  t.equal(refused.status, 406);
  t.match(refused.text, /application\/json, text\/html, text\/csv, application\/x-ndjson/);
  const one = (await send('POST', '/items', { body: { name: 'a' } })).json;
  t.equal((await get(NDJSON, `/items/${one.id}`)).status, 406, 'a record has no lines');
});

t.test('in a batch, only pages', async (t) => {
  const { service } = await library(t);
  const run = (path: string, accept: string) =>
    service.send('POST', '/batch', { body: [{ method: 'GET', path, headers: { accept } }] });
  const page = await run('/books?limit=2', NDJSON);
  t.equal(page.status, 200);
  t.equal(page.json.results[0].body.trimEnd().split('\n').length, 2);
  t.equal(page.json.results[0].headers['x-total-count'], '5');
  for (const path of ['/books', '/books?filter[price]=5']) t.equal((await run(path, CSV)).status, 400, path);
});

const NOT_ON_CITUS = { skip: CITUS_URL !== '' && 'COMPAT=json-server is refused on Citus' };
t.test('with COMPAT=json-server, its parameters select lines, too', NOT_ON_CITUS, async (t) => {
  const { get } = await library(t, { COMPAT: 'json-server' });
  const page = await get('/books?_page=1&_limit=2&_sort=title', NDJSON);
  t.same(
    recordsOf(page).map(({ title }) => title),
    ['=1+1', 'Dune'],
  );
  t.equal(page.headers['x-total-count'], '5');
  t.equal(recordsOf(await get('/books?q=dune', NDJSON)).length, 1);
});
