import type { JsonObject } from '../../../src/json.js';
import { declare } from '../../support/collections.js';
import { testService } from '../../support/service.js';
import t, { type Test } from '../../support/test.js';

const text = { type: 'string', 'x-index': true, maxLength: 100 };
/** Names that the statements of these lists use for themselves. */
const NAMES = ['matching', 'size', 'child', 'referred', 'parsed', 'member'];

async function library(t: Test, more: Record<string, string> = {}) {
  const authorId = { type: 'string', 'x-references': 'authors' };
  const other = { type: 'object', properties: { position: text, bytes: text, parent: text, authorId } };
  const COLLECTIONS = declare(t, {
    'authors.json': { type: 'object', properties: { name: text } },
    ...Object.fromEntries(NAMES.map((name) => [`${name}.json`, other])),
  });
  return testService(t, { COMPAT: 'json-server', COLLECTIONS, MIGRATE: 'auto', ...more });
}

t.test('pages of any size are lists, with related records', async (t) => {
  const { send } = await library(t);
  const author = (await send('POST', '/authors', { body: { name: 'Ann' } })).json;
  for (const [name, bytes] of NAMES.map((name, at) => [name, at === 0 ? 150_000 : 10] as const)) {
    for (let at = 0; at < 12; at++) {
      const body = { position: `p${11 - at}`, bytes: 'b', text: 'x'.repeat(bytes), authorId: author.id };
      t.equal((await send('POST', `/${name}`, { body })).status, 201);
    }
    for (const [query, count] of [
      ['_sort=position', 12],
      ['_sort=position&_limit=11', 11],
      ['_page=1&_limit=11&_sort=position', 11],
      ['_sort=position&_expand=author', 12],
      ['bytes=b&q=p&_sort=position&_end=9', 9],
    ] as const) {
      const { status, json, headers } = await send('GET', `/${name}?${query}`);
      t.equal(status, 200, `${name} ${query} ${status === 200 ? '' : JSON.stringify(json)}`);
      const positions = json.map((each: JsonObject) => each.position);
      t.same(positions, positions.toSorted(), 'they are in order');
      t.equal(positions.length, count);
      if (query.includes('_limit')) t.equal(headers['x-total-count'], '12');
      if (query.includes('_expand'))
        t.ok(json.every((each: { author: JsonObject }) => each.author.name === 'Ann'));
    }
    const embedded = await send('GET', `/authors?_embed=${name}`);
    if (bytes > 10) t.match(embedded, { status: 413, json: { error: { code: 'RESPONSE_TOO_LARGE' } } });
    else t.equal(embedded.json[0][name].length, 12);
    const [first] = (await send('GET', `/${name}?_sort=position&_limit=1&_expand=author`)).json;
    t.match(first, { position: 'p0', author: { name: 'Ann' } });
  }
});

t.test('related records that are too large are 413 also if those of the first record are not', async (t) => {
  const { send } = await library(t, { BODY_LIMIT: '3000000' });
  const authors: string[] = [];
  for (const name of ['Ann', 'Bob', 'Cid'])
    authors.push((await send('POST', '/authors', { body: { name } })).json.id);
  const add = async (authorId: string | undefined, length: number) =>
    t.equal((await send('POST', '/child', { body: { text: 'x'.repeat(length), authorId } })).status, 201);
  for (const each of authors) await add(each, 700_000);
  const path = '/authors?_embed=child';
  const whole = await send('GET', path);
  t.equal(whole.status, 200, 'each has room');
  for (const { child } of whole.json) t.equal(child.length, 1);
  await add(authors[1], 700_000);
  t.match(await send('GET', path), { status: 413, json: { error: { code: 'RESPONSE_TOO_LARGE' } } });
  t.equal((await send('GET', `${path}&name=Cid`)).status, 200);

  const dan = { name: 'Dan', text: 'x'.repeat(1_200_000) };
  const { json: large } = await send('POST', '/authors', { body: dan });
  await add(large.id, 10);
  t.match(await send('GET', '/child?_expand=author'), { status: 413 });
  t.equal((await send('GET', '/child?_expand=author&_limit=4')).status, 200);
});

t.test('json-server ignores unknown parameters, and QUERY of this service does not', async (t) => {
  const { send } = await library(t);
  const { id } = (await send('POST', '/authors?colour=red', { body: { name: 'Ann' } })).json;
  t.equal((await send('GET', `/authors/${id}?colour=red`)).json.name, 'Ann');
  const one = (await send('GET', `/authors/${id}?fields=name`)).json;
  t.same(Object.keys(one).sort(), ['_links', 'id', 'name']);
  t.equal((await send('PATCH', `/authors/${id}?colour=red`, { body: { name: 'Bob' } })).status, 200);
  const query = await send('QUERY', '/authors', { body: { colour: 'red' } });
  t.match(query, { status: 400, json: { error: { code: 'UNKNOWN_PARAMETER' } } });
  t.equal((await send('QUERY', '/authors', { body: { filter: { name: 'Bob' } } })).json.data.length, 1);
  t.match(await send('DELETE', `/authors/${id}?colour=red`), { status: 200, text: '{}' });
  t.match(await send('DELETE', `/authors/${id}`), { status: 404, text: '{}' });
});
