import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from '../../support/test.js';
import { digestsOf, libraryService, outcomesOf } from './library.js';

const RECORDED = fileURLToPath(
  new URL('../../../../test/fixtures/json-server-responses.json', import.meta.url),
);

t.test('lists, records and writes are those that json-server responded with', async (t) => {
  const { url, old } = await libraryService(t);
  const outcomes = await outcomesOf(url, old);
  const digests = digestsOf(outcomes);
  const recorded = JSON.parse(readFileSync(RECORDED, 'utf8'));
  t.same(Object.keys(digests), Object.keys(recorded));
  const differing = Object.keys(digests).filter((request) => digests[request] !== recorded[request]);
  for (const request of differing) t.comment(`${request}: ${outcomes[request]!.slice(0, 400)}`);
  t.same(differing, []);
});

t.test('a record that was created since the import', async (t) => {
  const { send: own, url } = await libraryService(t);
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
  const { send: own, get } = await libraryService(t).then((each) => ({ ...each, get: each.send }));
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
    ['a{200}b{200}', 400],
    ['a{15}b{17}', 200],
    ['(a+)+(b*)?', 200],
    ['(a{2}b){3}', 200],
    ['(a{5}|b)(c{10}|d){5}', 200],
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
