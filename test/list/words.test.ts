import Papa from 'papaparse';
import type { Json, JsonObject } from '../../src/json.js';
import { connect } from '../features/mcp/session.js';
import { valuesOf } from '../support/callers.js';
import { declare } from '../support/collections.js';
import { declared } from '../support/declared.js';
import { type TestService, testService } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';
import { notInDefault, seedOf, times } from '../support/thorough.js';
import { recordsIn, words } from '../support/words.js';

const WORDY = { type: 'string', 'x-search': 'words' };
const DECLARATIONS = {
  'shops.json': declared({ name: { type: 'string', 'x-index': true } }, {}, { title: 'Shop' }),
  'lamps.json': declared(
    {
      name: WORDY,
      text: WORDY,
      price: { type: 'number', 'x-index': true },
      shopId: { type: 'string', 'x-references': 'shops' },
    },
    { nested: true },
    { title: 'Lamp' },
  ),
  'essays.json': declared(
    { text: { ...WORDY, 'x-normalize': ['nfc'], maxLength: 1_000_000 } },
    { language: 'english', list: 'page' },
    { title: 'Essay' },
  ),
  'parts.json': declared(
    { number: { type: 'string', 'x-search': true }, text: WORDY },
    {},
    { title: 'Part' },
  ),
  'ranks.json': declared(
    { relevance: { type: 'number', 'x-index': true }, text: WORDY },
    {},
    { title: 'Rank' },
  ),
};

const open = (t: Test) =>
  testService(t, { COLLECTIONS: declare(t, DECLARATIONS), MIGRATE: 'auto', MCP: 'on' });

async function create({ send }: TestService, path: string, body: JsonObject): Promise<JsonObject> {
  const { status, json } = await send('POST', path, { body });
  if (status !== 201) throw new Error(JSON.stringify(json));
  return json;
}

const LAMPS = [
  { name: 'Desk lamp', text: 'A lamp for the desk, made in Italy.' },
  { name: 'Floor lamp', text: 'Made of red steel. Lamp, lamp and lamp.' },
  { name: 'Desktop', text: "Automatic desk-top (red) by O'Neill, info@example.org" },
  { name: 'Automobile', text: '<script>alert("lamp")</script> & more' },
  { price: 5 },
];

const namesOn = (pages: readonly { readonly data: readonly JsonObject[] }[]) =>
  names(pages.flatMap(({ data }) => data));

const names = (records: readonly JsonObject[]) =>
  records.map(({ name }) => (name as string | undefined) || '-');

/** The names of the lamps that a search finds, in each form of a list. */
async function found(service: TestService, path: string, search: string): Promise<Record<string, unknown>> {
  const query = String(new URLSearchParams({ search }));
  const get = async (mount: string, more: string, accept = 'application/json') =>
    service.send('GET', `${mount}${path}?${query}${more}`, { headers: { accept } });
  const ofCsv = (text: string) =>
    names(Papa.parse(text, { header: true, skipEmptyLines: true }).data as JsonObject[]);
  return {
    array: names((await get('', '')).json),
    page: names((await get('', '&page=1')).json.data),
    total: (await get('', '&limit=1')).json.meta.total,
    ndjson: names(recordsIn((await get('', '', 'application/x-ndjson')).text)),
    csv: ofCsv((await get('', '', 'text/csv')).text),
    query: names((await service.send('QUERY', path, { body: { search, limit: 50 } })).json.data),
    second: names((await get('/api/v2', '')).json.data),
    lines: names(recordsIn((await get('/api/v2', '', 'application/x-ndjson')).text)),
    count: (await get('', '&aggregate=count')).json.data[0].count,
    html: (await get('', '', 'text/html')).text.match(/<th scope="row">/g)?.length ?? 0,
  };
}

t.test('words, phrases, beginnings and exclusions are found in each form of a list', async (t) => {
  const service = await open(t);
  const shop = await create(service, '/shops', { name: 'A' });
  const other = await create(service, '/shops', { name: 'B' });
  for (const lamp of LAMPS) await create(service, '/lamps', { ...lamp, shopId: shop.id! });
  const rows: readonly (readonly [search: string, ...expected: string[]])[] = [
    ['lamp', 'Desk lamp', 'Floor lamp', 'Automobile'],
    ['LAMP red', 'Floor lamp'],
    ['lamp desk', 'Desk lamp'],
    ['lam'],
    ['lam*', 'Desk lamp', 'Floor lamp', 'Automobile'],
    ['auto*', 'Desktop', 'Automobile'],
    ['auto* red', 'Desktop'],
    ['"made in italy"', 'Desk lamp'],
    ['"made italy"'],
    ['made italy', 'Desk lamp'],
    ['lamp -red', 'Desk lamp', 'Automobile'],
    ['lamp -"red steel" -auto*', 'Desk lamp'],
    ['-lamp', 'Desktop', '-'],
    ['desk-top', 'Desktop'],
    ['desk-to*', 'Desktop'],
    ['info@example.org', 'Desktop'],
    ['example', 'Desktop'],
    ["o'neill", 'Desktop'],
    ['script', 'Automobile'],
    ['"red', 'Floor lamp', 'Desktop'],
    ['red"steel lamp"', 'Floor lamp'],
    ['!!! &|'],
    ['- * "" -""'],
  ];
  const array = async (path: string, search: string) =>
    names((await service.send('GET', `${path}?${new URLSearchParams({ search })}`)).json);
  for (const [search, ...expected] of rows) t.same(await array('/lamps', search), expected, search);
  for (const [search, ...expected] of rows.slice(0, 3)) {
    const { total, count, html, ...lists } = await found(service, '/lamps', search);
    for (const [form, list] of Object.entries(lists)) t.same(list, expected, `${search} ${form}`);
    t.same([total, count, html], [expected.length, expected.length, expected.length], search);
    t.same(await array(`/shops/${shop.id}/lamps`, search), expected, `${search} below a parent`);
    t.same(await array(`/shops/${other.id}/lamps`, search), [], 'another parent has none');
  }
  const { call } = await connect(t, service.url);
  const ranked = { search: 'lamp', sort: ['relevance'], excerpts: true, limit: 1 };
  const { value } = await call('lamps_list', ranked);
  t.match(value.data, [{ name: 'Floor lamp', _excerpts: { name: 'Floor <mark>lamp</mark>' } }]);
  const plain = (await call('lamps_list', { limit: 1 })).value;
  t.notMatch(plain.links.self, 'excerpts', 'the links have what the arguments have');
  t.match((await call('lamps_group', { search: 'red', aggregate: ['count'] })).value.data, [{ count: 2 }]);
  const { json } = await service.send('DELETE', '/lamps?filter[price][null]=true&search=lamp%20-red');
  t.match(json, { meta: { matched: 2 } });
  t.same(names((await service.send('GET', '/lamps')).json), ['Floor lamp', 'Desktop', '-']);
});

/** Signs and spaces beyond ASCII beside which a word ends. */
const SIGNS = [
  ...words(`
    “ ” „ ‘ ’ « » ‹ › ¿ ¡ — – … • · © ® ™ € § →
  `),
  ...['😀', '🇩', '、', '。', '「', '」', '！', '（', '−', '×', '“¿'],
  ...['\u00a0', '\u3000', '\u2009', '\u200b', '\ufeff'],
];

t.test('a word ends at each sign and space of Unicode, whatever the locale of the database is', async (t) => {
  const service = await open(t);
  const sql = sqlOf(t, service.databaseUrl);
  for (const [at, sign] of SIGNS.entries()) {
    const word = `w${at}örter`;
    const text = `vorher ${sign}${word}${sign} nachher a${sign}${word}${sign}b`;
    await create(service, '/lamps', { name: `lamp ${at}`, text });
    const all = [word, `${sign}${word}${sign}`, `"${sign}${word}${sign} nachher"`, `${word.slice(0, -2)}*`];
    for (const search of all) {
      const query = new URLSearchParams({ search, excerpts: 'true', page: '1' });
      const { json } = await service.send('GET', `/lamps?${query}`);
      t.same(names(json.data), [`lamp ${at}`], `${JSON.stringify(sign)} ${search}`);
      if (search !== word) continue;
      const marked = `${sign}<mark>${word}</mark>${sign}`;
      t.same(json.data[0]._excerpts.text, `vorher ${marked} nachher a${marked}b`, 'an excerpt has the signs');
    }
  }
  for (const letters of ['größe', 'naïve', '日本語', 'привет', 'a\u0301b', 'ﬁ', 'x²', '٣٤'])
    t.same(
      (await sql`select tsvector_to_array(plinth_words('pg_catalog.simple', ${letters})) as words`)[0],
      { words: [letters] },
      'letters, marks and digits belong to a word',
    );
});

/** The pages from a path on, with their paths. */
async function pagesOf({ send }: TestService, path: string, direction: 'next' | 'prev' = 'next') {
  const result: { readonly path: string; readonly data: readonly JsonObject[] }[] = [];
  for (let next: string | null = path; next !== null; ) {
    const { status, json, text }: Awaited<ReturnType<typeof send>> = await send('GET', next);
    if (status !== 200) throw new Error(text);
    result.push({ path: next, data: json.data });
    next = json.links[direction];
  }
  return result;
}

t.test('the most relevant records are first, in numbered pages and between cursors', async (t) => {
  const service = await open(t);
  const { send, databaseUrl } = service;
  const pages = (path: string, direction?: 'prev') => pagesOf(service, path, direction);
  for (let n = 0; n < 60; n++)
    await create(service, '/lamps', {
      name: `lamp ${n}`,
      text: `${'lamp '.repeat(n % 7)} ${'other '.repeat(n % 5)} red`,
      price: n % 3,
    });
  const sql = sqlOf(t, databaseUrl);
  const expected = await sql`
    select name from (
      select *, to_tsvector('simple', name || e'\n' || text) as words, websearch_to_tsquery('simple', 'lamp red') as query from lamps
    ) as lamp where words @@ query order by ts_rank(words, query, 1) desc, id desc`;
  const all = names(expected as unknown as JsonObject[]);
  t.equal(all.length, 60);
  const query = 'search=lamp%20red&sort=relevance';
  t.same(names((await send('GET', `/lamps?${query}`)).json), all, 'an array');
  t.equal((await send('GET', `/lamps?${query}&order=asc`)).status, 400, 'there is no other direction');
  t.same(namesOn(await pages(`/lamps?${query}&limit=20&page=1`)), all, 'numbered pages');
  t.same(namesOn(await pages(`/api/v2/lamps?${query}&limit=7`)), all, 'pages between cursors');
  t.same(namesOn(await pages(`/api/v2/lamps?${query}&limit=7&count=exact`)), all, 'with a total');
  const last = (await pages(`/api/v2/lamps?${query}&limit=7`)).at(-1)!.path;
  t.same(namesOn((await pages(last, 'prev')).toReversed()), all, 'backwards');
  const byPrice = await sql`
    select name from (
      select *, to_tsvector('simple', name || e'\n' || text) as words, websearch_to_tsquery('simple', 'lamp') as query from lamps
    ) as lamp where words @@ query order by price desc, ts_rank(words, query, 1) desc, id desc`;
  for (const mount of ['', '/api/v2'])
    t.same(
      namesOn(await pages(`${mount}/lamps?search=lamp&sort=-price,relevance&limit=20`)),
      names(byPrice as unknown as JsonObject[]),
      `${mount} after another key`,
    );
  const ndjson = await send('GET', `/lamps?${query}`, { headers: { accept: 'application/x-ndjson' } });
  t.same(names(recordsIn(ndjson.text)), all, 'streamed lines');
  for (const [path, status] of [
    ['/api/v2/lamps?sort=relevance', 400],
    ['/api/v2/lamps?sort=-relevance&search=lamp', 400],
    ['/lamps?sort=relevance&page=1', 400],
    ['/lamps?sort=-relevance&search=lamp', 400],
    ['/api/v2/lamps?search=lamp&excerpts=yes', 400],
    ['/lamps?search=lamp&excerpts=', 400],
    ['/lamps?search=lamp&excerpts=true&aggregate=count', 400],
    ['/shops?excerpts=true', 400],
    ['/api/v2/shops?sort=relevance', 400],
  ] as const)
    t.equal((await send('GET', path)).status, status, path);
  t.equal((await send('QUERY', '/lamps', { body: { sort: ['relevance'] } })).status, 400);
  const body = { search: 'lamp red', sort: ['relevance'], limit: 60 };
  t.same(names((await send('QUERY', '/lamps', { body })).json.data), all, 'QUERY');
  for (const relevance of [2, 1]) await create(service, '/ranks', { relevance, text: 'x' });
  const ranks = await send('GET', '/ranks?sort=relevance&order=asc&search=x');
  t.match(ranks.json, [{ relevance: 1 }, { relevance: 2 }], 'a field of that name takes precedence');
  const html = (await send('GET', '/lamps?search=lamp&_filter', { headers: { accept: 'text/html' } })).text;
  t.match(html, /<option[^>]*>Relevance</, 'a page has a choice');
});

t.test('an order has the relevance and members of related records', async (t) => {
  const service = await open(t);
  const { send, databaseUrl } = service;
  const shops: { readonly id?: Json; readonly name?: string }[] = [{}];
  for (const shop of [{ name: 'A' }, { name: 'B' }, {}])
    shops.push({ ...shop, id: (await create(service, '/shops', shop)).id! });
  for (let n = 0; n < 40; n++) {
    const { id } = shops[n % 4]!;
    await create(service, '/lamps', {
      name: String(n),
      text: `${n % 11 === 0 ? '' : 'lamp '}${'other '.repeat(n % 3)}`,
      ...(id === undefined ? {} : { shopId: id }),
    });
  }
  const sql = sqlOf(t, databaseUrl);
  const ranked = await sql`
    select name, ts_rank(to_tsvector('simple', name || e'\n' || text), 'lamp', 1) as rank from lamps where text like 'lamp%'`;
  const lamps = ranked.map(({ name, rank }) => ({
    name: String(name),
    created_at: Number(name),
    relevance: -Number(rank),
    'shop.name': shops[Number(name) % 4]!.name,
  }));
  t.equal(lamps.length, 36);
  type Lamp = (typeof lamps)[number];
  /** Records without a value are last in both directions. */
  const compare = (a: Lamp, b: Lamp, key: string) => {
    const [x, y] = [a, b].map((lamp) => lamp[key.replace('-', '') as keyof Lamp]);
    if (x === y) return 0;
    if (x === undefined || y === undefined) return x === undefined ? 1 : -1;
    return x < y === key.startsWith('-') ? 1 : -1;
  };
  const orders = [
    ['shop.name,relevance', '-created_at'],
    ['-shop.name,relevance', '-created_at'],
    ['relevance,shop.name', 'created_at'],
    ['relevance,-shop.name', '-created_at'],
    ['-shop.name,relevance,created_at', 'created_at'],
    ['shop.name,-created_at,relevance', '-created_at'],
    ['-shop.name', '-created_at'],
  ] as const;
  for (const [sort, id] of orders) {
    const keys = [...sort.split(','), id];
    const expected = lamps
      .toSorted((a, b) => keys.map((key) => compare(a, b, key)).find((order) => order !== 0) ?? 0)
      .map(({ name }) => name);
    const query = `search=lamp&sort=${sort}`;
    t.same(namesOn(await pagesOf(service, `/lamps?${query}&limit=7`)), expected, `${sort} in pages`);
    for (const count of ['', '&count=exact']) {
      const found = await pagesOf(service, `/api/v2/lamps?${query}&limit=7${count}`);
      t.same(namesOn(found), expected, `${sort} between cursors${count}`);
      const back = await pagesOf(service, found.at(-1)!.path, 'prev');
      t.same(namesOn(back.toReversed()), expected, `${sort} backwards${count}`);
    }
    for (const mount of ['', '/api/v2']) {
      const headers = { accept: 'application/x-ndjson' };
      const { text } = await send('GET', `${mount}/lamps?${query}`, { headers });
      t.same(names(recordsIn(text)), expected, `${mount} ${sort} as lines`);
    }
    const body = { search: 'lamp', sort: sort.split(','), limit: 50, excerpts: true };
    const { json } = await send('QUERY', '/lamps', { body });
    t.same(names(json.data), expected, `${sort} of QUERY`);
    t.match(json.data[0]._excerpts.text, '<mark>lamp</mark>');
  }
  t.equal((await send('GET', '/api/v2/lamps?search=lamp&sort=shop.relevance')).status, 400);
});

t.test('excerpts are HTML with no other tags than those around words', async (t) => {
  const service = await open(t);
  const { send } = service;
  for (const lamp of LAMPS) await create(service, '/lamps', lamp);
  const excerptsOf = async (path: string) =>
    ((await send('GET', path)).json.data as JsonObject[]).map(({ _excerpts }) => _excerpts);
  for (const mount of ['', '/api/v2']) {
    t.same(await excerptsOf(`${mount}/lamps?search=lamp&excerpts=true`), [
      { name: 'Desk <mark>lamp</mark>', text: 'A <mark>lamp</mark> for the desk, made in Italy' },
      {
        name: 'Floor <mark>lamp</mark>',
        text: 'Made of red steel. <mark>Lamp</mark>, <mark>lamp</mark> and <mark>lamp</mark>',
      },
      { text: 'script&gt;alert(&quot;<mark>lamp</mark>&quot;)&lt;/script&gt; &amp; more' },
    ]);
    t.same(await excerptsOf(`${mount}/lamps?excerpts=true`), [{}, {}, {}, {}, {}], 'without a search');
    const one = await send('GET', `${mount}/lamps?search=info@example.org&excerpts=true&fields=name&limit=5`);
    t.match(one.json.data, [
      { name: 'Desktop', _excerpts: { text: /<mark>info<\/mark>@<mark>example<\/mark>\.<mark>org<\/mark>/ } },
    ]);
    t.notOk('text' in one.json.data[0]);
    t.notOk('_excerpts' in (await send('GET', `${mount}/lamps?search=lamp&excerpts=false`)).json.data[0]);
  }
  const headers = { accept: 'application/x-ndjson' };
  const ndjson = await send('GET', '/lamps?search=auto*&excerpts=true', { headers });
  t.match(JSON.parse(ndjson.text.split('\n')[0]!), { _excerpts: { text: '<mark>Automatic</mark>' } });
  const csv = await send('GET', '/lamps?search=auto*&excerpts=true', { headers: { accept: 'text/csv' } });
  t.match(csv.text, '"{""name"":""<mark>Automobile</mark>""}"');
  const query = await send('QUERY', '/lamps', { body: { search: 'lamp', excerpts: true } });
  t.match(query.json.data[0], { _excerpts: { name: 'Desk <mark>lamp</mark>' } });
  t.match(query.headers.location, 'excerpts=true');
  // A long text, with characters that excerpts use themselves.
  const [far, near] = ['word '.repeat(30_000), ' \u0001\u0002\u000e<b>needle</b> '];
  const { id } = await create(service, '/essays', { text: `${far}${near}${far}`, _excerpts: 'own' });
  const essays = await excerptsOf(`/essays?search=needles&excerpts=true`);
  t.equal(essays.length, 1);
  const { text } = essays[0] as { text: string };
  t.match(text, '&lt;b&gt;<mark>needle</mark>&lt;/b&gt;');
  t.equal(/[^ -\uffff]/.test(text), false, 'no control characters');
  t.ok(text.length < 2000, `${text.length} characters`);
  t.match((await send('GET', `/essays/${id}`)).json, { _excerpts: 'own' });
});

t.test('texts of any length are stored, and found within bounds', { skip: notInDefault }, async (t) => {
  const service = await open(t);
  const { send } = service;
  const random = (n: number) => ((n * 2_654_435_761) % 4_294_967_296).toString(36);
  const many = Array.from({ length: 105_000 }, (_, n) => random(n)).join(' ');
  const texts: readonly [text: string, words: readonly string[]][] = [
    [`first ${'lorem ipsum '.repeat(80_000)} latest`, ['first', 'latest']],
    [`begin ${many.slice(0, 950_000)}`, ['begin', random(3)]],
    ['x'.repeat(990_000), []],
    [`start ${'a_b-c.d/e@f<g&'.repeat(60_000)}`, ['start', '"f g a b"']],
    [`opening ${'<!-- '.repeat(180_000)}`, ['opening']],
    [`${'é'.repeat(400_000)} after`, ['after']],
  ];
  for (const [text, words] of texts) {
    const { id } = await create(service, '/lamps', { text });
    for (const search of words) {
      const query = new URLSearchParams({ search, fields: 'id', excerpts: 'true' });
      const { json } = await send('GET', `/lamps?${query}`);
      t.ok(valuesOf(json.data, 'id').includes(id), `${text.slice(0, 20)}: ${search}`);
    }
  }
});

t.test('no text of a search is an internal error', async (t) => {
  const service = await open(t);
  await create(service, '/lamps', { text: 'the lamp' });
  await create(service, '/essays', { text: 'the lamp' });
  const hostile = [
    ...words('!!! &| " """ - -- -" * ** a:*b (a the* -the <-> \u0301 \u0001\u0002 \0 lamp\0x'),
    ...["' OR 1=1 --", "''' \\' \\\\", "lamp':A", '<-> & | ! ( )', '(a & (b', 'the a of', '😀 \u0301 \u200d'],
    ...['é'.repeat(100), 'x'.repeat(3000), 'word '.repeat(2000), '-a* '.repeat(25), '"a b" '.repeat(16)],
    `%_\\ \${x} $1 :name ?`,
  ];
  for (const search of hostile)
    for (const collection of ['lamps', 'essays', 'parts']) {
      for (const more of [{}, { sort: 'relevance', excerpts: 'true' }]) {
        const query = new URLSearchParams({ search, ...more });
        for (const mount of ['', '/api/v2']) {
          const { status } = await service.send('GET', `${mount}/${collection}?${query}`);
          const label = `${mount} ${collection} ${JSON.stringify(search.slice(0, 30))}: ${status}`;
          t.ok([200, 400, 414].includes(status), label);
        }
        const body = { search, ...more, ...('sort' in more ? { sort: ['relevance'] } : {}) };
        const { status } = await service.send('QUERY', `/${collection}`, { body });
        t.ok([200, 400].includes(status), `QUERY ${JSON.stringify(search.slice(0, 30))}: ${status}`);
      }
    }
  t.equal((await service.send('GET', '/lamps?search=the%00lamp')).status, 400, 'U+0000');
  const { json } = await service.send('GET', '/essays?search=the');
  t.same(json.data, [], 'words without a stem find nothing');
});

t.test('a collection of both kinds finds parts of some fields, or words of the others', async (t) => {
  const service = await open(t);
  await create(service, '/parts', { number: 'AB-red-7', text: 'a blue part' });
  await create(service, '/parts', { number: 'CD-8', text: 'a red part' });
  const numbers = async (search: string, more = '') =>
    valuesOf(
      (await service.send('GET', `/parts?search=${encodeURIComponent(search)}${more}`)).json,
      'number',
    );
  t.same(await numbers('red'), ['AB-red-7', 'CD-8']);
  t.same(await numbers('red', '&sort=relevance'), ['CD-8', 'AB-red-7'], 'parts have no relevance');
  t.same(await numbers('part blue'), ['AB-red-7']);
  t.same(await numbers('-re'), ['AB-red-7', 'CD-8'], 'a part of one, and no word of the other');
  t.same(await numbers('d-8'), ['CD-8']);
  t.same(await numbers('art'), []);
});

t.test('a language finds the words of a stem, and x-normalize applies to the search', async (t) => {
  const service = await open(t);
  await create(service, '/essays', { text: 'The runners were running through caf\u00e9s.' });
  await create(service, '/lamps', { text: 'The runners were running.' });
  const total = async (path: string, search: string) =>
    (await service.send('GET', `${path}?search=${encodeURIComponent(search)}&limit=1`)).json.meta.total;
  t.equal(await total('/essays', 'run'), 1);
  t.equal(await total('/essays', 'runner'), 1);
  // A word that is left out has its place.
  t.equal(await total('/essays', '"running through the cafe\u0301s"'), 0);
  t.equal(await total('/essays', '"running through cafe\u0301s"'), 1);
  t.equal(await total('/essays', 'RUNS -walk'), 1);
  t.equal(await total('/lamps', 'run'), 0);
  t.equal(await total('/lamps', 'running'), 1);
});

const WORDS = ['red', 'green', 'blue', 'redder', 'green2', 'bl', 'x', 'Été'];

t.test('searches find what plain JavaScript finds', async (t) => {
  const service = await open(t);
  const sql = sqlOf(t, service.databaseUrl);
  let state = seedOf(t) % 2_147_483_646;
  const random = (n: number) => {
    state = (state * 16_807 + 1) % 2_147_483_647;
    return state % n;
  };
  const upTo = <T>(most: number, make: () => T) => Array.from({ length: random(most) + 1 }, make);
  const word = () => WORDS[random(WORDS.length)]!;
  for (let n = 0; n < 80; n++)
    await create(service, '/lamps', {
      name: String(n),
      ...(random(8) === 0 ? {} : { text: upTo(6, word).join([' ', ', ', '; '][random(3)]) }),
    });
  const records = (await sql`select name, coalesce(text, '') as text from lamps order by id`).map((row) => ({
    name: String(row.name),
    words: `${row.name} ${row.text}`.toLowerCase().split(/[ ,;]+/),
  }));
  interface Term {
    readonly kind: 'word' | 'phrase' | 'prefix';
    readonly words: readonly string[];
    readonly isExcluded: boolean;
  }
  const holds = (words: readonly string[], { kind, words: wanted, isExcluded }: Term): boolean => {
    const lower = wanted.map((each) => each.toLowerCase());
    const isFound =
      kind === 'prefix'
        ? words.some((each) => each.startsWith(lower[0]!))
        : words.some((_, at) => lower.every((each, offset) => words[at + offset] === each));
    return isFound !== isExcluded;
  };
  const textOf = ({ kind, words, isExcluded }: Term) =>
    `${isExcluded ? '-' : ''}${kind === 'word' ? words[0] : kind === 'prefix' ? `${words[0]}*` : `"${words.join(' ')}"`}`;
  for (let round = 0; round < times(25, 400, 1500); round++) {
    const terms = upTo(3, (): Term => {
      const kind = (['word', 'phrase', 'prefix'] as const)[random(3)]!;
      const words =
        kind === 'phrase' ? upTo(3, word) : [kind === 'prefix' ? word().slice(0, random(3) + 1) : word()];
      return { kind, words, isExcluded: random(4) === 0 };
    });
    const search = terms.map(textOf).join(' ');
    const expected = records
      .filter(({ words }) => terms.every((term) => holds(words, term)))
      .map(({ name }) => name);
    const query = new URLSearchParams({ search, limit: '100' });
    t.same(names((await service.send('GET', `/lamps?${query}`)).json.data), expected, search);
  }
});
