import { testService } from '../support/service.js';
import t from '../support/test.js';
import { words } from '../support/words.js';

const ids = ({ json }: { json: { data?: { id: string }[] } & { id: string }[] }) =>
  (json.data ?? json).map(({ id }) => id);

t.test('a list with one key sorts by its fields, and any other value gives the default', async (t) => {
  const { send } = await testService(t);
  const created: string[] = [];
  for (const price of [2, 3, 1])
    created.push((await send('POST', '/items', { body: { name: `n${price}`, price } })).json.id);
  const newest = created.toReversed();
  // Of the address, as a client would type them.
  const values = words(String.raw`
    foo -foo -1E+02 0,0 , - --price price, ,price price,foo -price \price pr\ice price,name -created_at created_at id
  `);
  for (const sort of [...values, '', 'price '])
    for (const path of ['/items', '/items?page=1', '/items?filter[price][gt]=0', '/api/v1/items']) {
      const query = `${path}${path.includes('?') ? '&' : '?'}sort=${encodeURIComponent(sort)}`;
      const response = await send('GET', query);
      t.equal(response.status, 200, query);
      t.same(ids(response), newest, query);
    }
  for (const accept of ['text/csv', 'application/x-ndjson', 'text/html'])
    t.equal((await send('GET', '/items?sort=-price', { headers: { accept } })).status, 200, accept);
  t.same(ids(await send('GET', '/items?sort=price&order=asc')), [created[2], created[0], created[1]]);
  t.match((await send('GET', '/items?sort=-foo&page=1')).json.links.self, 'sort=-foo');
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
