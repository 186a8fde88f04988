import type { JsonObject } from '../../src/json.js';
import { declare } from '../support/collections.js';
import { testService } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t from '../support/test.js';

const reference = (to: string) => ({ type: 'string', format: 'uuid', 'x-references': to });
const text = { type: 'string', maxLength: 100, 'x-index': true };
const collection = (properties: JsonObject, options: JsonObject = {}) => ({
  type: 'object',
  properties,
  'x-collection': { list: 'page', ...options },
});
const DECLARATIONS = {
  'shelves.json': collection({ room: text }),
  'books.json': collection(
    { shelfId: reference('shelves'), status: text, number: { type: 'number', 'x-index': true } },
    { nested: true },
  ),
};

const identity = (n: number) =>
  n
    .toString(16)
    .padStart(32, '0')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');

/** Of 2,500 shelves, ten are in the room "small"; each has a book, and the first has 2,500 more, which are "sold". */
const FILL = `
  alter table shelves disable trigger user;
  alter table books disable trigger user;
  create function pg_temp.identity(n bigint) returns uuid language sql as $$ select lpad(to_hex(n), 32, '0')::uuid $$;
  insert into shelves (id, updated_at, doc, room)
  select pg_temp.identity(n), now(), format('{"id":"%s"}', pg_temp.identity(n)), case when n <= 10 then 'small' else 'large' end
  from generate_series(1, 2500) n;
  insert into books (id, updated_at, doc, shelf_id, status, number)
  select pg_temp.identity(10000 + n), now(), format('{"id":"%s"}', pg_temp.identity(10000 + n)),
    pg_temp.identity(case when n <= 2500 then n else 1 end), case when n <= 2500 then 'here' || n % 500 else 'sold' end, n % 100
  from generate_series(1, 5000) n;
  alter table shelves enable trigger user;
  alter table books enable trigger user;
  analyze shelves, books;`;

t.test('pages with conditions have what SQL finds, for few matches and many', async (t) => {
  const service = await testService(t, { COLLECTIONS: declare(t, DECLARATIONS), MIGRATE: 'auto' });
  const sql = sqlOf(t, service.databaseUrl);
  await sql.unsafe(FILL);
  const queries: readonly (readonly [path: string, where: string, order?: string])[] = [
    ['/books?filter[status]=here7', `status = 'here7'`],
    ['/books?filter[status]=sold', `status = 'sold'`],
    ['/books?filter[status]=none', 'false'],
    ['/books?filter[status]=here7&sort=number&order=desc', `status = 'here7'`, 'number desc, id desc'],
    ['/books?filter[number]=7&sort=status&order=asc', 'number = 7', 'status collate "C", id'],
    ['/books?filter[or][0][status]=here7&filter[or][1][number]=7', `status = 'here7' or number = 7`],
    ['/books?filter[or][0][status]=here7&filter[or][1][status]=sold', `status in ('here7', 'sold')`],
    ['/books?filter[shelf][room]=large', `shelf_id in (select id from shelves where room = 'large')`],
    ['/books?filter[shelf][room]=small', `shelf_id in (select id from shelves where room = 'small')`],
    ['/books?filter[shelf][room]=none', 'false'],
    [
      '/books?filter[shelf][or][0][room]=none&filter[shelf][or][1][books][some][status]=here7',
      `shelf_id in (select shelf_id from books where status = 'here7')`,
    ],
    ['/shelves?filter[books][some][status]=sold', `id in (select shelf_id from books where status = 'sold')`],
    [
      '/shelves?filter[or][0][books][some][status]=sold&filter[or][1][books][some][number]=7',
      `id in (select shelf_id from books where status = 'sold' or number = 7)`,
    ],
    // One of several conditions finds few records, or none of them does.
    ['/books?filter[status]=sold&filter[number]=7', `status = 'sold' and number = 7`],
    ['/books?filter[number]=7&filter[status]=sold', `status = 'sold' and number = 7`],
    ['/books?filter[status]=sold&filter[number][gte]=50', `status = 'sold' and number >= 50`],
    [
      '/books?filter[number]=7&filter[status][in]=sold,here7&filter[created_at][gt]=2020-01-01&sort=status&order=desc',
      'false',
    ],
    [
      '/books?filter[shelf][room]=small&filter[number][lt]=7&sort=number&order=asc',
      `shelf_id in (select id from shelves where room = 'small') and number < 7`,
      'number, id',
    ],
    [
      '/books?filter[or][0][status]=here7&filter[or][1][number]=7&filter[status][prefix]=here',
      `(status = 'here7' or number = 7) and status like 'here%'`,
    ],
    [`/shelves/${identity(1)}/books?filter[number]=7`, `number = 7 and shelf_id = '${identity(1)}'`],
    [
      `/shelves/${identity(7)}/books?filter[status][ne]=sold`,
      `status <> 'sold' and shelf_id = '${identity(7)}'`,
    ],
  ];
  for (const [path, where, order = 'id'] of queries) {
    const table = /(\w+)\?/.exec(path)![1]!;
    const found = await sql.unsafe(`select id::text from ${table} where ${where} order by ${order}`);
    const ids = found.map(({ id }) => String(id));
    for (const part of ['limit=7', 'page=2&limit=7', 'page=250&limit=9', 'page=300&limit=9&count=none']) {
      const { json } = await service.send('GET', `${path}&${part}`);
      const [page, limit] = [json.meta.page as number, json.meta.limit as number];
      t.same(
        [(json.data as JsonObject[]).map(({ id }) => id), json.meta.total],
        [ids.slice((page - 1) * limit, page * limit), part.includes('none') ? undefined : ids.length],
        `${path}&${part}`,
      );
    }
  }
});

t.test('pages between cursors are the same for few matches and many, in both directions', async (t) => {
  const service = await testService(t, { COLLECTIONS: declare(t, DECLARATIONS), MIGRATE: 'auto' });
  const sql = sqlOf(t, service.databaseUrl);
  await sql.unsafe(FILL);
  for (const [conditions, where, order, limit] of [
    ['filter[number]=7', 'number = 7', 'id', 7],
    ['filter[number]=7&filter[status]=sold', `number = 7 and status = 'sold'`, 'id', 3],
    [
      'filter[shelf][room]=small&count=exact',
      `shelf_id in (select id from shelves where room = 'small')`,
      'id',
      100,
    ],
    ['filter[shelf][room]=none&count=exact', 'false', 'id', 7],
    ['filter[status]=here7&sort=number', `status = 'here7'`, 'number, id', 2],
    ['filter[number]=8&sort=-created_at', 'number = 8', 'id desc', 10],
  ] as const) {
    const found = await sql.unsafe(`select id::text from books where ${where} order by ${order}`);
    const ids = found.map(({ id }) => String(id));
    for (const rel of ['next', 'prev'] as const) {
      let address: string | null = `/api/v2/books?${conditions}&limit=${limit}`;
      let [all, last]: [string[], string] = [[], ''];
      const totals = new Set<unknown>();
      // The first page has no page before it: backwards begins at the last page.
      for (const step of rel === 'next' ? ['next'] : ['next', 'prev']) {
        if (step === 'prev') [address, all] = [last, []];
        while (address !== null) {
          const { json }: { json: JsonObject } = await service.send('GET', address);
          last = address;
          const page = (json.data as JsonObject[]).map(({ id }) => String(id));
          all = step === 'next' ? [...all, ...page] : [...page, ...all];
          totals.add((json.meta as JsonObject).total);
          const link = (json.links as JsonObject)[step];
          address = link === null ? null : String(link);
        }
      }
      t.same([all, [...totals]], [ids, [conditions.includes('count') ? ids.length : undefined]], conditions);
    }
  }
});

t.test('a value that the database cannot compute with fails its own request alone', async (t) => {
  const service = await testService(t, { COLLECTIONS: declare(t, DECLARATIONS), MIGRATE: 'auto' });
  const values = ['7', '1e-400', '"', '8', '-0.0', '1e3'];
  const responses = await Promise.all(
    values.map((value) => service.send('GET', `/books?filter[number]=${encodeURIComponent(value)}`)),
  );
  t.same(
    responses.map(({ status }) => status),
    [200, 400, 400, 200, 200, 200],
  );
  const texts = ['"', '\\', '{}', ',', 'NULL', ' a ', ''];
  const created = await service.send('POST', '/shelves', { body: { room: 'a' } });
  for (const text of texts)
    await service.send('POST', '/books', { body: { shelfId: created.json.id, status: text } });
  const found = await Promise.all(
    texts.map((text) => service.send('GET', `/books?filter[status]=${encodeURIComponent(text)}`)),
  );
  t.same(
    found.map(({ json }) => (json.data as JsonObject[]).map(({ status }) => status)),
    texts.map((text) => [text]),
  );
});
