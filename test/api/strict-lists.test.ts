import { declare } from '../support/collections.js';
import { testService } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { words } from '../support/words.js';

const FIELDS = {
  price: { type: 'number', 'x-index': true },
  rank: { type: 'number', 'x-index': true },
  name: { type: 'string', maxLength: 100, 'x-search': true },
  text: { type: 'string', maxLength: 100, 'x-search': 'words' },
  ownerId: { type: 'string', 'x-references': 'owners' },
};
const declared = (properties: object, options: object = {}) => ({
  type: 'object',
  properties,
  'x-collection': options,
});
const FILES = {
  'owners.json': declared({}),
  'things.json': declared(FIELDS, { history: true }),
  'sheets.json': declared(FIELDS, { list: 'page', sort: '-created_at', nested: true }),
  'loose.json': declared(FIELDS, { lists: 'tolerant', nested: true }),
};
const service = (t: Test) => testService(t, { COLLECTIONS: declare(t, FILES), MIGRATE: 'auto' });

interface Thing {
  price: number;
}

/** Queries that are 400 in strict lists and have the default in tolerant ones, with the parameter at fault. */
const INVALID: readonly (readonly [string, string])[] = [
  ...['0', '-1', 'x', '', '1.5', '1e2', '2x', '%201', '9007199254740993', '99999999999999999999'].map(
    (page) => [`page=${page}`, 'page'] as const,
  ),
  ...['0', '-1', '101', 'x', '', '1.5', '10x', 'Infinity'].map(
    (limit) => [`limit=${limit}`, 'limit'] as const,
  ),
  ['page=1&page=2', 'page'],
  ['limit=5&limit=5', 'limit'],
  ...[
    'foo',
    '-foo',
    '-1E+02',
    '0,0',
    ',',
    '',
    ...words(`
      - --price price, ,price price,foo price&sort=foo price,rank,price,rank,price,rank relevance
      -relevance owner owner.foo
    `),
  ].map((sort) => [`sort=${sort}`, 'sort'] as const),
  ...['up', '', 'ASC', 'asc,desc'].map((order) => [`order=${order}`, 'order'] as const),
  ['order=asc&order=asc', 'order'],
  ['sort=-price&order=asc', 'order'],
  ['sort=price,rank&order=desc', 'order'],
  ['search=a&search=b', 'search'],
  [`search=${'a'.repeat(101)}`, 'search'],
];

t.test('an invalid value in a strict list of version 1 is 400, and its name is in the error', async (t) => {
  const { send } = await service(t);
  const owner = (await send('POST', '/owners', { body: {} })).json.id;
  const forms = ['application/json', 'text/csv', 'text/html'];
  for (const path of ['/things', '/api/v1/sheets', `/owners/${owner}/sheets`])
    for (const [query, parameter] of INVALID)
      for (const accept of path === '/things' ? forms : forms.slice(0, 1))
        t.match(
          await send('GET', `${path}?${query}`, { headers: { accept } }),
          {
            // The form of a page sends the fields that are left blank.
            status: accept === 'text/html' && query.endsWith('=') ? 200 : 400,
            ...(accept === 'application/json' && {
              json: { error: { code: 'INVALID_QUERY', details: { parameter } } },
            }),
          },
          `${path}?${query} ${accept}`,
        );
  const history = `/things/${(await send('POST', '/things', { body: {} })).json.id}/history`;
  for (const path of ['/events', '/api/v2/events', history])
    for (const limit of ['0', '-1', '1001', 'x', '', '1.5', '10x'])
      t.match(
        await send('GET', `${path}?limit=${limit}`),
        { status: 400, text: /INVALID_QUERY.*limit/ },
        `${path} ${limit}`,
      );
  for (const path of ['/loose', `/owners/${owner}/loose`])
    for (const [query] of INVALID)
      t.equal((await send('GET', `${path}?${query}`)).status, 200, `${path}?${query}`);
});

t.test('a strict list of version 1 has the order that its keys say', async (t) => {
  const { send } = await service(t);
  const owner = (await send('POST', '/owners', { body: {} })).json.id;
  for (const name of ['things', 'sheets'])
    for (const [price, rank] of [
      [1, 1],
      [2, 1],
      [3, 2],
    ])
      await send('POST', `/${name}`, { body: { price, rank, name: 'Lamp', ownerId: owner } });
  const prices = ({ json }: { json: { data?: Thing[] } & Thing[] }) =>
    (json.data ?? json).map(({ price }) => price).join('');
  for (const [query, expected] of [
    ['sort=price', '123'],
    ['sort=-price', '321'],
    ['sort=price&order=desc', '321'],
    ['sort=price&order=asc', '123'],
    ['sort=-rank,-price', '321'],
    ['sort=rank&sort=-price', '213'],
    ['sort[]=rank&sort[]=-price', '213'],
    ['order=asc', '123'],
    ['order=desc', '321'],
    ['sort=owner.created_at,-price', '321'],
    ['search=lamp&sort=price', '123'],
  ] as const)
    for (const [path, isPage] of [
      ['/things', false],
      ['/sheets', true],
      [`/owners/${owner}/sheets`, true],
    ] as const) {
      const response = await send('GET', `${path}?${query}`);
      t.equal(prices(response), expected, `${path}?${query}`);
      t.equal(Array.isArray(response.json), !isPage, `${path}?${query}`);
      const page = await send('GET', `${path}?${query}&limit=2`);
      t.equal(prices(page), expected.slice(0, 2), `${path}?${query}&limit=2`);
      const next = await send('GET', page.json.links.next);
      t.equal(prices(next), expected.slice(2), page.json.links.next);
    }
  for (const [query, expected] of [
    [{ sort: ['price'] }, '123'],
    [{ sort: ['rank', '-price'] }, '213'],
    [{ sort: ['price'], order: 'desc' }, '321'],
  ] as const) {
    const response = await send('QUERY', '/sheets', { body: query });
    t.equal(prices(response), expected, JSON.stringify(query));
    t.equal(prices(await send('GET', response.headers.location!)), expected);
  }
});

t.test('the documents tell strict lists from tolerant ones', async (t) => {
  const { send } = await service(t);
  const { paths } = (await send('GET', '/openapi.json')).json;
  const listOf = (path: string) => paths[path].get;
  const schemaOf = (path: string) => listOf(path).responses['200'].content['application/json'].schema;
  t.ok(schemaOf('/sheets').$ref, 'a page whatever the parameters are');
  t.ok(schemaOf('/things').anyOf, 'a page or an array');
  const sortOf = (path: string) =>
    listOf(path).parameters.find(({ name }: { name: string }) => name === 'sort').schema.type;
  t.same(['/sheets', '/things', '/loose'].map(sortOf), ['array', 'array', 'string']);
});
