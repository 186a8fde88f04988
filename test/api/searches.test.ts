import Papa from 'papaparse';
import type { JsonObject } from '../../src/json.js';
import { connect } from '../features/mcp/session.js';
import { declare } from '../support/collections.js';
import { type TestService, testService } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { recordsIn } from '../support/words.js';

t.jobs = 2;

const NFC = 'Caf\u00e9';
const NFD = 'Cafe\u0301';

const DECLARATIONS = {
  'authors.json': { title: 'Author', type: 'object', properties: { name: { type: 'string' } } },
  'books.json': {
    title: 'Book',
    type: 'object',
    properties: {
      title: { type: 'string', maxLength: 200, 'x-index': true, 'x-search': true },
      authorId: { type: 'string', format: 'uuid', 'x-references': 'authors' },
    },
    'x-collection': { nested: true },
  },
  'films.json': {
    title: 'Film',
    type: 'object',
    properties: {
      title: {
        type: 'string',
        maxLength: 200,
        'x-index': true,
        'x-search': true,
        'x-normalize': ['trim', 'nfc', 'lower'],
      },
      authorId: { type: 'string', format: 'uuid', 'x-references': 'authors' },
    },
    'x-collection': { nested: true },
  },
  'notes.json': {
    title: 'Note',
    type: 'object',
    properties: {
      title: { type: 'string', maxLength: 200, 'x-search': true, 'x-normalize': ['nfc'] },
      text: { type: 'string', maxLength: 20_000, 'x-search': true },
    },
  },
};

const TITLES = ['Dune', 'Dune Messiah', 'Emma', '100%_x', 'Zorro', 'zo'];

const open = (t: Test) =>
  testService(t, { COLLECTIONS: declare(t, DECLARATIONS), MIGRATE: 'auto', MCP: 'on' });

async function create({ send }: TestService, path: string, body: JsonObject): Promise<JsonObject> {
  const { status, json } = await send('POST', path, { body });
  if (status !== 201) throw new Error(JSON.stringify(json));
  return json;
}

/** The titles of a list in each of its forms. */
async function titlesIn(service: TestService, path: string, parameters: Record<string, string>) {
  const query = String(new URLSearchParams(parameters));
  const get = (mount: string, accept: string, more = '') =>
    service.send('GET', `${mount}${path}?${query}${more}`, { headers: { accept } });
  const titles = (records: readonly JsonObject[]) => records.map(({ title }) => title as string);
  const ofCsv = (text: string) => {
    const [header = '', ...rows] = text.split('\r\n').slice(0, -1);
    const at = header.split(',').indexOf('title');
    return rows.map((row) => Papa.parse<string[]>(row).data[0]![at]!.replace(/^'/, ''));
  };
  const html = (await get('', 'text/html')).text;
  const { order: _, ...ofVersion2 } = parameters;
  const second = String(new URLSearchParams({ ...ofVersion2, sort: 'title' }));
  return {
    array: titles((await get('', 'application/json')).json),
    page: titles((await get('', 'application/json', '&page=1')).json.data),
    total: (await get('', 'application/json', '&limit=1')).json.meta.total,
    ndjson: titles(recordsIn((await get('', 'application/x-ndjson')).text)),
    csv: ofCsv((await get('', 'text/csv')).text),
    html: TITLES.filter((title) => html.includes(`>${title}<`)).length,
    query: titles((await service.send('QUERY', path, { body: { ...parameters, limit: 50 } })).json.data),
    second: titles((await service.send('GET', `/api/v2${path}?${second}`)).json.data),
  };
}

t.test('a nested list is searched in each form, as one of all records is', async (t) => {
  const service = await open(t);
  const [author, other] = [
    await create(service, '/authors', { name: 'A' }),
    await create(service, '/authors', { name: 'B' }),
  ];
  for (const title of TITLES) await create(service, '/books', { title, authorId: author.id! });
  for (const search of ['dune', 'DUNE M', 'zzzz', 'zo', 'z', '%', '_', '0%_', ' emma ']) {
    const expected = TITLES.filter((title) =>
      title.toLowerCase().includes(search.trim().toLowerCase()),
    ).sort();
    const parameters = { search, sort: 'title', order: 'asc' };
    for (const path of ['/books', `/authors/${author.id}/books`]) {
      const found = await titlesIn(service, path, parameters);
      for (const form of ['array', 'page', 'ndjson', 'csv', 'query', 'second'] as const)
        t.same(found[form], expected, `${path} ${search} ${form}`);
      t.same([found.total, found.html], [expected.length, expected.length], `${path} ${search}`);
    }
    const none = await titlesIn(service, `/authors/${other.id}/books`, parameters);
    t.same([none.array, none.csv, none.total], [[], [], 0], 'the records of another parent are not found');
  }
});

t.test('a filter and a search are normalized as the field is', async (t) => {
  const service = await open(t);
  const author = await create(service, '/authors', { name: 'A' });
  for (const title of ['  CAFE\u0301 Noir ', 'Tea'])
    await create(service, '/films', { title, authorId: author.id! });
  const { call } = await connect(t, service.url);
  for (const [operator, value] of [
    ['eq', ' Cafe\u0301 NOIR'],
    ['in', 'Cafe\u0301 NOIR '],
    ['prefix', ' CAFE\u0301 '],
    ['contains', 'E\u0301 N'],
    ['lte', 'CAFE\u0301 NOIR'],
  ] as const) {
    const filter = { title: { [operator]: operator === 'in' ? [value] : value } };
    const query = new URLSearchParams({ [`filter[title][${operator}]`]: value });
    for (const path of ['/films', `/authors/${author.id}/films`])
      for (const mount of ['', '/api/v2']) {
        const read = await service.send('GET', `${mount}${path}?${query}`);
        const queried = await service.send('QUERY', `${mount}${path}`, { body: { filter } });
        for (const { json } of [read, queried])
          t.same(
            json.data.map(({ title }: JsonObject) => title),
            ['caf\u00e9 noir'],
            `${mount}${path} ${query}`,
          );
      }
    t.equal((await call('films_list', { filter })).value.meta.total, 1, operator);
  }
  t.equal(
    (await service.send('GET', `/films?filter[title][ne]=${encodeURIComponent(' TEA ')}`)).json.meta.total,
    1,
  );
  t.equal((await service.send('GET', '/films?filter[title][prefix]=cafe%CC%81%20%20')).json.meta.total, 0);
  for (const search of [NFD, NFC, NFD.toUpperCase()])
    for (const path of ['/films', `/authors/${author.id}/films`]) {
      const found = await service.send('GET', `${path}?search=${encodeURIComponent(search)}&page=1`);
      t.equal(found.json.meta.total, 1, search);
      t.match(found.json.links.self, encodeURIComponent(search), 'links repeat what was given');
    }
  const { matched } = (
    await service.send('PATCH', `/films?filter[title]=${encodeURIComponent('TEA ')}`, {
      body: { seen: true },
    })
  ).json.meta;
  t.equal(matched, 1, 'a write to all that match');
});

t.test('a search finds its text as it is, and as a searched field normalizes it', async (t) => {
  const service = await open(t);
  await create(service, '/notes', { title: `1 ${NFD}`, text: '-' });
  await create(service, '/notes', { title: '2', text: NFD });
  await create(service, '/notes', { title: '3', text: NFC });
  for (const [search, expected] of [
    [NFD, ['1', '2', '3']],
    [NFC, ['1', '3']],
    ['CAF', ['1', '2', '3']],
  ] as const) {
    const query = `search=${encodeURIComponent(search)}`;
    const first = (records: readonly JsonObject[]) => records.map(({ title }) => String(title)[0]).sort();
    const wanted = expected as readonly string[];
    t.same(first((await service.send('GET', `/notes?${query}&page=1`)).json.data), wanted, search);
    t.same(first((await service.send('GET', `/api/v2/notes?${query}`)).json.data), wanted, search);
    const { text } = await service.send('GET', `/notes?${query}`, {
      headers: { accept: 'application/x-ndjson' },
    });
    t.same(first(recordsIn(text)), wanted, search);
  }
});

t.test('a searched text may be as long as its declaration and the limit of bodies allow', async (t) => {
  const service = await open(t);
  const long = `${'word '.repeat(3900)}needle`;
  t.equal((await create(service, '/notes', { title: 'long', text: long })).text, long);
  t.equal((await service.send('GET', '/notes?search=needle&page=1')).json.meta.total, 1);
  t.equal((await service.send('GET', '/notes?filter[text][contains]=d%20needl')).json.meta.total, 1);
  const wide = 'é'.repeat(20_000);
  t.equal((await create(service, '/notes', { title: 'wide', text: wide })).text, wide);
  t.equal((await service.send('GET', '/notes?search=é&page=1'.replace('é', '%C3%A9'))).json.meta.total, 1);
  const many = Array.from({ length: 6000 }, (_, at) => String.fromCodePoint(0x4e00 + at)).join('');
  t.equal((await create(service, '/notes', { title: 'many', text: many })).text, many);
  const part = encodeURIComponent(many.slice(3000, 3004));
  t.equal((await service.send('GET', `/notes?search=${part}&page=1`)).json.meta.total, 1);
  const body = { title: 'x', text: 'x'.repeat(20_001) };
  t.match((await service.send('POST', '/notes', { body })).json.errors, [{ keyword: 'maxLength' }]);
  const indexed = { title: 'é'.repeat(199) };
  t.equal((await service.send('POST', '/books', { body: indexed })).status, 201);
});
