import { declare } from '../../support/collections.js';
import { jsonServer, LIBRARY, LIBRARY_DECLARATIONS } from '../../support/json-server.js';
import { load } from '../../support/load.js';
import { type ServiceResponse, send, testService } from '../../support/service.js';
import t, { type Test } from '../../support/test.js';
import { drawn } from '../../support/thorough.js';

/** The service and json-server with the same records. */
async function both(t: Test) {
  const env = { COMPAT: 'json-server', COLLECTIONS: declare(t, LIBRARY_DECLARATIONS), MIGRATE: 'auto' };
  const service = await testService(t, env);
  const resources = service.collections.map(({ resource }) => resource);
  await load({ url: service.databaseUrl, resources }, LIBRARY as never);
  const other = await jsonServer(t, LIBRARY);
  const old = new Map<string, number>();
  for (const name of Object.keys(LIBRARY))
    for (const { id, legacy_id } of (await service.send('GET', `/${name}`)).json) old.set(id, legacy_id);
  return { ...service, other, old };
}

/** A value as json-server has it: ids are those from before, and what only the service has is left out. */
function plain(value: unknown, old: ReadonlyMap<string, number>): unknown {
  if (Array.isArray(value)) return value.map((each) => plain(each, old));
  if (typeof value === 'string') return old.get(value) ?? value;
  if (typeof value !== 'object' || value === null) return value;
  const { created_at, updated_at, _version, _links, legacy_id, ...rest } = value as Record<string, unknown>;
  return Object.fromEntries(Object.entries(rest).map(([name, each]) => [name, plain(each, old)]));
}

/** The links to other pages, without the port of the server. Those of json-server after `_page=x` lead nowhere else. */
const linksOf = ({ headers }: ServiceResponse, path: string) =>
  decodeURIComponent(String(headers.link ?? '').replaceAll('+', ' '))
    .replace(/:\d+\//g, '/')
    .replace(/_page=[0x]/.test(path) ? /<.*?>/g : /$/, '');

const fieldQueries = [
  'title',
  'genre',
  'price',
  'inPrint',
  'pages',
  'note',
  'id',
  'authorId',
  'unknown',
].flatMap((field) => [
  `_sort=${field}`,
  `_sort=${field}&_order=desc&_limit=7`,
  `_sort=${field}&_order=DESC&_start=3&_end=9`,
  `_sort=${field},id&_order=asc,desc&_page=2&_limit=9`,
]);
const filters = [
  'genre=sf',
  'genre=SF',
  'genre=sf&genre=crime',
  'genre_ne=sf',
  'genre_ne=sf&genre_ne=crime',
  'genre_like=c',
  'genre_like=^[pc]',
  'title_like=sea',
  'title_like=sea&title_like=dune',
  'price_gte=20',
  'price_lte=20',
  'price_gte=10&price_lte=20.5',
  'price=3.5',
  'price=3',
  'price_ne=3.5',
  'price_gte=abc',
  'title_gte=river',
  'title_lte=a',
  'inPrint=true',
  'inPrint=false',
  'inPrint_ne=true',
  'pages=103',
  'pages_gte=103',
  'note=null',
  'note_ne=note 1',
  'note_like=1$',
  'id=3',
  'id=1&id=2&id=99',
  'id_gte=30',
  'id_lte=4',
  'id_ne=1',
  'id_like=^1',
  'authorId=3',
  'authorId=3&authorId=4',
  'authorId_ne=3',
  'authorId=99',
  'unknown=1',
  'unknown_gte=1',
  'unknown_ne=1',
  'unknown_like=1',
  'q=dune',
  'q=SNOW',
  'q=100%25',
  'q=nothing like it',
  'q=(II)',
  'q=light&genre=sf',
  'q=',
  'genre=',
  '_=123&genre=sf',
  'price_gte=',
  'price_lte=',
  'price_gte=%20 20 ',
  'price_lte=Infinity',
  'price_gte=1e1&price_lte=0x14',
  'inPrint_gte=1',
  'inPrint_lte=0',
  'inPrint_lte=true',
  'note_lte=',
  'authorId_gte=4',
  'authorId_lte=2',
  'authorId_like=^[12]$',
  'genre[]=sf&genre[]=crime',
  'genre[0]=sf&genre[1]=crime',
  'genre_ne[]=sf&genre_ne[]=crime',
  'price_gte[]=40',
  'title_like[]=sea',
  'id[]=4&id[]=5',
];
const slices = [
  '_start=-3&_end=60',
  '_start=-8&_end=-2',
  '_end=-4',
  '_limit=-1',
  '_start=5&_limit=-3',
  '_start=5&_end=10',
  '_start=0&_end=0',
  '_start=35&_end=99',
  '_start=50&_end=60',
  '_start=10&_end=5',
  '_end=4',
  '_start=4',
  '_start=5&_limit=3',
  '_limit=5',
  '_limit=1000',
  '_page=1',
  '_page=4&_limit=10',
  '_page=5&_limit=10',
  '_page=0&_limit=10',
  '_page=x',
  '_page=2&_limit=0',
  '_page=1&_limit=60',
  '_start=x&_end=3',
];
const included = [
  '_embed=reviews',
  '_embed=nothing',
  '_embed[]=reviews&_expand[]=author',
  '_expand=author',
  '_expand=nothing',
  '_expand=author&_embed=reviews&_limit=4',
];
const paths = [
  '/authors',
  '/authors?_embed=books',
  '/authors?address.city=Ulm',
  '/authors?address.city_like=o',
  '/authors?address.zip_gte=3',
  '/authors?_sort=address.city&_order=desc',
  '/authors?_sort=name&_embed=books&_limit=2',
  '/authors/1',
  '/authors/1?_embed=books',
  '/authors/99',
  '/authors/abc',
  '/authors/1/books',
  '/authors/1/books?_sort=price&_order=desc',
  '/authors/1/books?genre=sf',
  '/authors/99/books',
  '/books/2?_expand=author',
  '/books/2?_embed=reviews&_expand=author',
  '/books/2/reviews',
  '/books/2/reviews?stars_gte=2',
  '/reviews/7?_expand=book',
  '/reviews?_expand=book&_limit=5',
  '/reviews?bookId=12',
  '/reviews?stars=0',
  '/reviews?q=0',
  '/authors?nick.name=nick A',
  '/authors?nick.name_like=[DF]$',
  '/authors?nick.name_gte=nick C',
  '/authors?_sort=nick.name&_order=desc',
  '/authors?tags=a',
  '/authors?tags=a,b',
  '/authors?tags=b,,1,2',
  '/authors?tags=',
  '/authors?tags_ne=a',
  '/authors?tags_like=^b',
  '/authors?tags_gte=a,',
  '/authors?_sort=tags&_order=desc',
  '/authors?address_like=object',
  '/authors?motto_like=one.two',
  '/authors?motto_like=\\bby\\b',
  '/authors?motto_like=\\Bord',
  '/authors?motto_like=C\\%2B\\%2B \\(new\\)',
  '/authors?motto_like=[%2B(]',
  '/authors?motto_like=[[_]b',
  '/authors?motto_like=\\y',
  '/authors?motto_like=\\m|\\A|\\z',
  '/authors?motto_like=^\\w_\\w$',
  '/authors?motto_like=^%C3%A4THER$',
  '/authors?motto_like=^$',
  '/authors/',
  '/authors/1/',
  '/authors/1/books/',
  '/authors/1/books?authorId=2',
  '/authors/1/books?_page=2&_limit=3',
];
const combined = filters.flatMap((filter, at) => [
  `${filter}&${slices[at % slices.length]}`,
  `${filter}&_sort=price&_order=${at % 2 ? 'asc' : 'desc'}&_page=1&_limit=4`,
]);

t.test('lists and records are those of json-server', async (t) => {
  const { send: own, other, old } = await both(t);
  const queries = [
    ...drawn(fieldQueries, 12),
    ...drawn(filters, 20),
    ...drawn(slices, 8),
    ...drawn(included, 3),
    ...drawn(combined, 20),
  ].map((each) => `/books?${each}`);
  const requests = [...drawn(paths, 20), '/books', ...queries].map((each) => each.replaceAll(' ', '%20'));
  const differing: string[] = [];
  for (const path of requests) {
    const [ours, theirs] = [await own('GET', path), await send(other, 'GET', path)];
    const shown = JSON.stringify([
      ours.status,
      plain(ours.json, old),
      ours.headers['x-total-count'],
      linksOf(ours, path),
    ]);
    const expected = JSON.stringify([
      theirs.status,
      plain(theirs.json, new Map()),
      theirs.headers['x-total-count'],
      linksOf(theirs, path),
    ]);
    const canonical = (json: string) => JSON.stringify(sorted(JSON.parse(json)));
    if (canonical(shown) !== canonical(expected))
      differing.push(`${path}\n  ${shown.slice(0, 200)}\n  ${expected.slice(0, 200)}`);
  }
  t.comment(`${requests.length - differing.length} of ${requests.length} are equal`);
  t.ok(requests.length > 80);
  t.same(
    differing.map((each) => each.split('\n')[0]),
    [],
    differing.join('\n'),
  );
});

/** A value with the members of objects in one order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, each]) => [name, sorted(each)]),
  );
}

t.test('writes are those of json-server', async (t) => {
  const { send: own, other, old } = await both(t);
  const steps: [method: string, path: string, body?: Record<string, unknown>][] = [
    ['POST', '/books', { title: 'new', authorId: 2, extra: { a: [1] } }],
    ['POST', '/authors/1/books', { title: 'nested' }],
    ['PATCH', '/books/3', { price: 1, _version: 99 }],
    ['PUT', '/books/4', { title: 'all of it', authorId: 5 }],
    ['PATCH', '/books/999', { price: 1 }],
    ['PUT', '/books/999', { title: 'x' }],
    ['DELETE', '/books/999'],
    ['DELETE', '/reviews/1'],
    ['DELETE', '/authors/6'],
    ['GET', '/books?authorId=6'],
    ['GET', '/books/3'],
    ['GET', '/books/4'],
    ['GET', '/reviews/1'],
  ];
  for (const [method, path, body] of steps) {
    const [ours, theirs] = [
      await own(method, path, body ? { body } : {}),
      await send(other, method, path, body ? { body } : {}),
    ];
    t.equal(ours.status, theirs.status, `${method} ${path}`);
    const withoutId = ({ id, _version, ...rest }: Record<string, unknown>) =>
      method === 'POST' ? rest : { id, ...rest };
    const shown = plain(ours.json, old) as Record<string, unknown>;
    const expected = plain(theirs.json, new Map()) as Record<string, unknown>;
    t.same(
      Array.isArray(shown) ? shown : withoutId(shown),
      // json-server has the id of a path as text.
      Array.isArray(expected)
        ? expected
        : { ...withoutId(expected), ...(path === '/authors/1/books' && { authorId: 1 }) },
      `${method} ${path}`,
    );
  }
});

t.test('a record that was created since the import', async (t) => {
  const { send: own, url } = await both(t);
  const made = await own('POST', '/books', { body: { title: 'first', authorId: '' } });
  t.match(made, { status: 201, headers: { location: `${url}/books/${made.json.id}` } });
  t.notOk('authorId' in made.json, 'an empty choice is no reference');
  t.equal((await own('GET', new URL(made.headers.location!).pathname)).json.title, 'first');
  await own('POST', '/books', { body: { title: 'second', authorId: 3 } });
  for (const [order, expected] of [
    ['desc', ['second', 'first', 'light 23']],
    ['asc', ['light 23', 'first', 'second']],
  ] as const) {
    const slice = order === 'asc' ? '_start=39&_end=99' : '_limit=3';
    const { json } = await own('GET', `/books?_sort=id&_order=${order}&${slice}`);
    t.same(
      json.map(({ title }: { title: string }) => title),
      expected,
    );
  }
  const missing = await own('POST', '/books', { body: { title: 'x', authorId: 99 } });
  t.match(missing, { status: 422, json: { error: { code: 'AUTHOR_NOT_FOUND' } } });
  t.match(await own('POST', '/books/99/reviews', { body: { text: 'x' } }), { status: 404, json: {} });
});

t.test('the parameters of this service, other representations and limits stay', async (t) => {
  const { send: own, get } = await both(t).then((each) => ({ ...each, get: each.send }));
  t.match((await own('GET', '/books?page=1&limit=2')).json.meta, { total: 40 });
  for (const pattern of ['(', '[', '*', '(?<a>b)'])
    t.match(await get('GET', `/books?title_like=${encodeURIComponent(pattern)}`), {
      status: 400,
      json: { error: { code: 'INVALID_QUERY', message: /_like` must be a regular expression/ } },
    });
  const patterns: [pattern: string, status: number][] = [
    ['(a{1,50}){50}', 400],
    ['((a{20}){20}){20}', 400],
    ['(?:a{16}b){16,}', 400],
    ['(a|b{9}c{20}){0,20}', 400],
    ['a{200}{2}', 400],
    ['(a*)*\\1', 400],
    ['(a)[(]{9}(x{30}){9}', 400],
    ['[a-c', 400],
    ['a{256}', 400],
    ['a{255}', 200],
    ['a{200}b{200}', 200],
    ['(a+)+(b*)?', 200],
    ['(a{2}b){3}', 200],
    ['(a{30}|b)(c{30}|d){5}', 200],
    ['[{}(]{5}\\{9}\\(', 200],
    ['(?=a)(?!b{9})', 200],
  ];
  for (const [pattern, status] of patterns)
    t.equal((await get('GET', `/books?title_like=${encodeURIComponent(pattern)}`)).status, status, pattern);
  t.equal(
    (
      await get(
        'GET',
        `/books?${'a=1&'.repeat(0)}${Array.from({ length: 21 }, (_, n) => `f${n}=1`).join('&')}`,
      )
    ).status,
    400,
  );
  t.equal((await get('GET', '/books?genre=%00')).status, 400);
  t.match((await get('GET', '/books', { headers: { accept: 'text/csv' } })).headers, {
    'content-type': /csv/,
  });
});
