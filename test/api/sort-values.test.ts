import { testService } from '../support/service.js';
import t from '../support/test.js';

/** Values that are no name of a field: of the address, as a client would type them. */
const INVALID = [
  'foo',
  '-foo',
  '-1E+02',
  '1E+02',
  '0,0',
  '0',
  ',',
  '',
  '-',
  '--price',
  'price,',
  ',price',
  'price,foo',
  'foo,price',
];
const ids = ({ json }: { json: { data?: { id: string }[] } & { id: string }[] }) =>
  (json.data ?? json).map(({ id }) => id);

t.test('a list with one key sorts by its fields, and any other value gives the default', async (t) => {
  const { send } = await testService(t);
  const created: string[] = [];
  for (const price of [2, 3, 1])
    created.push((await send('POST', '/items', { body: { name: `n${price}`, price } })).json.id);
  const newest = created.toReversed();
  for (const sort of [
    ...INVALID,
    '-price',
    '\\price',
    'pr\\ice',
    'price,name',
    '-name',
    '-created_at',
    'created_at',
    'id',
    'price ',
  ])
    for (const rest of ['', '&page=1', '&fields=name', '&count=none', '&filter[price][gt]=0'])
      for (const [path, accept] of [
        ['/items'],
        ['/api/v1/items'],
        ['/items', 'text/csv'],
        ['/items', 'application/x-ndjson'],
      ] as const) {
        const query = `${path}?sort=${encodeURIComponent(sort)}${rest}`;
        const response = await send('GET', query, { headers: accept ? { accept } : {} });
        t.equal(response.status, 200, query);
        if (!accept) t.same(ids(response), newest, query);
        else if (accept !== 'text/csv')
          t.same(
            response.text
              .trim()
              .split('\n')
              .map((line) => JSON.parse(line).id),
            newest,
            query,
          );
      }
  t.equal((await send('GET', '/items?sort=-price', { headers: { accept: 'text/html' } })).status, 200);
  t.same(ids(await send('GET', '/items?sort=price&order=asc')), [created[2], created[0], created[1]]);
  t.match((await send('GET', '/items?sort=-foo&page=1')).json.links.self, 'sort=created_at');
  const falling = [created[1], created[0], created[2]];
  t.same(ids(await send('GET', '/api/v2/items?sort=-price,name')), falling, 'version 2 has several keys');
  const queried = await send('QUERY', '/items', { body: { sort: ['-price', 'name'] } });
  t.same(ids(queried), falling, 'and QUERY');
  t.notOk(queried.headers.location, 'no address has the order');
  for (const sort of ['foo', '-foo', 'price,foo'])
    for (const [method, path, options] of [
      ['GET', `/api/v2/items?sort=${sort}`, {}],
      ['QUERY', '/items', { body: { sort } }],
      ['QUERY', '/items', { body: { sort: sort.split(',') } }],
    ] as const)
      t.match(
        await send(method, path, options),
        { status: 400, text: /INVALID_QUERY/ },
        `${method} ${path} ${sort}`,
      );
});

t.test('HEAD has the header fields of GET', async (t) => {
  const { send, url } = await testService(t);
  t.ok(url);
  const { id } = (await send('POST', '/users', { body: { name: 'Ann', email: 'ann@example.org' } })).json;
  await send('POST', '/items', { body: { name: 'Lamp' } });
  // Fields that differ from response to response: also the length of a compressed page, which has a random token, and the
  // cursor, which moves on when events become final.
  const OWN = ['date', 'x-request-id', 'server-timing', 'keep-alive', 'set-cookie', 'events-cursor'];
  const fieldsOf = (headers: object) =>
    Object.fromEntries(Object.entries(headers).filter(([name]) => !OWN.includes(name)));
  for (const path of [
    '/users',
    '/items',
    '/items?sort=name',
    '/items?page=1',
    '/posts',
    `/users/${id}`,
    `/users/${id}/posts`,
    '/api/v2/users',
    '/openapi.json',
    '/healthz',
    '/absent',
    `/users/${id}x`,
  ])
    for (const accept of ['application/json', 'text/csv', 'application/x-ndjson', 'text/html'])
      for (const coding of [undefined, 'gzip', 'br']) {
        const headers = { accept, ...(coding && { 'accept-encoding': coding }) };
        const [get, head] = [await send('GET', path, { headers }), await send('HEAD', path, { headers })];
        t.equal(head.status, get.status);
        t.equal(head.text, '');
        const isRandom = accept === 'text/html' && coding !== undefined;
        const [ofHead, ofGet] = [head, get].map((each) =>
          fieldsOf(isRandom ? { ...each.headers, 'content-length': '' } : each.headers),
        );
        t.same(ofHead, ofGet, `${path} ${accept} ${coding}`);
      }
});
