import { createHash } from 'node:crypto';
import { declare } from '../../support/collections.js';
import { LIBRARY, LIBRARY_DECLARATIONS } from '../../support/json-server.js';
import { load } from '../../support/load.js';
import { type ServiceResponse, send, testService } from '../../support/service.js';
import type { Test } from '../../support/test.js';
import { words } from '../../support/words.js';

/** The service with the records of the library, and their ids of before by their new ones. */
export async function libraryService(t: Test) {
  const env = { COMPAT: 'json-server', COLLECTIONS: declare(t, LIBRARY_DECLARATIONS), MIGRATE: 'auto' };
  const service = await testService(t, env);
  const resources = service.collections.map(({ resource }) => resource);
  await load({ url: service.databaseUrl, resources }, LIBRARY as never);
  const old = new Map<string, number>();
  for (const name of Object.keys(LIBRARY))
    for (const { id, legacy_id } of (await service.send('GET', `/${name}`)).json) old.set(id, legacy_id);
  return { ...service, old };
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

const fieldQueries = words(`
  title genre price inPrint pages note id authorId unknown
`).flatMap((field) => [
  `_sort=${field}`,
  `_sort=${field}&_order=desc&_limit=7`,
  `_sort=${field}&_order=DESC&_start=3&_end=9`,
  `_sort=${field},id&_order=asc,desc&_page=2&_limit=9`,
]);
const filters = [
  ...words(`
    genre=sf genre=SF genre=sf&genre=crime genre_ne=sf genre_ne=sf&genre_ne=crime genre_like=c
    genre_like=^[pc] title_like=sea title_like=sea&title_like=dune price_gte=20 price_lte=20
    price_gte=10&price_lte=20.5 price=3.5 price=3 price_ne=3.5 price_gte=abc title_gte=river title_lte=a
    inPrint=true inPrint=false inPrint_ne=true pages=103 pages_gte=103 note=null
  `),
  'note_ne=note 1',
  ...words(`
    note_like=1$ id=3 id=1&id=2&id=99 id_gte=30 id_lte=4 id_ne=1 id_like=^1 authorId=3
    authorId=3&authorId=4 authorId_ne=3 authorId=99 unknown=1 unknown_gte=1 unknown_ne=1 unknown_like=1
    q=dune q=SNOW q=100%25
  `),
  'q=nothing like it',
  'q=(II)',
  'q=light&genre=sf',
  'q=',
  'genre=',
  '_=123&genre=sf',
  'price_gte=',
  'price_lte=',
  'price_gte=%20 20 ',
  ...words(`
    price_lte=Infinity price_gte=1e1&price_lte=0x14 inPrint_gte=1 inPrint_lte=0 inPrint_lte=true note_lte=
    authorId_gte=4 authorId_lte=2 authorId_like=^[12]$ genre[]=sf&genre[]=crime genre[0]=sf&genre[1]=crime
    genre_ne[]=sf&genre_ne[]=crime price_gte[]=40 title_like[]=sea id[]=4&id[]=5
  `),
];
const slices = words(`
  _start=-3&_end=60 _start=-8&_end=-2 _end=-4 _limit=-1 _start=5&_limit=-3 _start=5&_end=10 _start=0&_end=0
  _start=35&_end=99 _start=50&_end=60 _start=10&_end=5 _end=4 _start=4 _start=5&_limit=3 _limit=5
  _limit=1000 _page=1 _page=4&_limit=10 _page=5&_limit=10 _page=0&_limit=10 _page=x _page=2&_limit=0
  _page=1&_limit=60 _start=x&_end=3
`);
const included = [
  '_embed=reviews',
  '_embed=nothing',
  '_embed[]=reviews&_expand[]=author',
  '_expand=author',
  '_expand=nothing',
  '_expand=author&_embed=reviews&_limit=4',
];
const paths = [
  ...words(`
    /authors /authors?_embed=books /authors?address.city=Ulm /authors?address.city_like=o
    /authors?address.zip_gte=3 /authors?_sort=address.city&_order=desc
    /authors?_sort=name&_embed=books&_limit=2 /authors/1 /authors/1?_embed=books /authors/99 /authors/abc
    /authors/1/books /authors/1/books?_sort=price&_order=desc /authors/1/books?genre=sf /authors/99/books
    /books/2?_expand=author /books/2?_embed=reviews&_expand=author /books/2/reviews
    /books/2/reviews?stars_gte=2 /reviews/7?_expand=book /reviews?_expand=book&_limit=5 /reviews?bookId=12
    /reviews?stars=0 /reviews?q=0
  `),
  '/authors?nick.name=nick A',
  '/authors?nick.name_like=[DF]$',
  '/authors?nick.name_gte=nick C',
  ...words(`
    /authors?_sort=nick.name&_order=desc /authors?tags=a /authors?tags=a,b /authors?tags=b,,1,2
    /authors?tags= /authors?tags_ne=a /authors?tags_like=^b /authors?tags_gte=a,
    /authors?_sort=tags&_order=desc /authors?address_like=object /authors?motto_like=one.two
    /authors?motto_like=\\bby\\b /authors?motto_like=\\Bord
  `),
  '/authors?motto_like=C\\%2B\\%2B \\(new\\)',
  ...words(`
    /authors?motto_like=[%2B(] /authors?motto_like=[[_]b /authors?motto_like=\\y
    /authors?motto_like=\\m|\\A|\\z /authors?motto_like=^\\w_\\w$ /authors?motto_like=^%C3%A4THER$
    /authors?motto_like=^$ /authors/ /authors/1/ /authors/1/books/ /authors/1/books?authorId=2
    /authors/1/books?_page=2&_limit=3
  `),
];
const combined = filters.flatMap((filter, at) => [
  `${filter}&${slices[at % slices.length]}`,
  `${filter}&_sort=price&_order=${at % 2 ? 'asc' : 'desc'}&_page=1&_limit=4`,
]);

const READS = [
  ...paths,
  '/books',
  ...[...fieldQueries, ...filters, ...slices, ...included, ...combined].map((query) => `/books?${query}`),
].map((path) => path.replaceAll(' ', '%20'));

const WRITES: readonly [method: string, path: string, body?: Record<string, unknown>][] = [
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
/** Ids of before by those of the service; empty for json-server. */
type Old = ReadonlyMap<string, number>;
/** The response to each request, as text, by method and path. */
export type Outcomes = Readonly<Record<string, string>>;

/** Sends all reads, and then all writes, to the service or to json-server. */
export async function outcomesOf(url: string, old: Old): Promise<Outcomes> {
  const outcomes: Record<string, string> = {};
  for (const path of READS) {
    const response = await send(url, 'GET', path);
    const { status, json, headers } = response;
    const parts = [status, headers['x-total-count'], linksOf(response, path), sorted(plain(json, old))];
    outcomes[`GET ${path}`] = JSON.stringify(parts);
  }
  for (const [at, [method, path, body]] of WRITES.entries()) {
    const { status, json } = await send(url, method, path, body ? { body } : {});
    outcomes[`${at + 1}. ${method} ${path}`] = JSON.stringify([
      status,
      sorted(written(json, method, path, old)),
    ]);
  }
  return outcomes;
}

/** The record of a response to a write: only its request decides whether a new id is the next one. */
function written(json: unknown, method: string, path: string, old: Old): unknown {
  const shown = plain(json, old);
  if (Array.isArray(shown)) return shown;
  const { id, _version, ...rest } = shown as Record<string, unknown>;
  // json-server has the id of a path as text.
  const parent = path === '/authors/1/books' ? { authorId: Number(rest.authorId) } : {};
  return method === 'POST' ? { ...rest, ...parent } : { id, ...rest };
}

/** The outcomes as the file of the recorded ones has them: their first members, and a digest of the records. */
export const digestsOf = (outcomes: Outcomes): Outcomes =>
  Object.fromEntries(
    Object.entries(outcomes).map(([request, text]) => [
      request,
      `${JSON.parse(text)[0]} ${createHash('sha256').update(text).digest('base64url').slice(0, 16)}`,
    ]),
  );

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
