import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { valuesOf } from '../../support/callers.js';
import t from '../../support/test.js';
import { words } from '../../support/words.js';
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
    t.same(valuesOf(json, 'title'), expected);
  }
  const missing = await own('POST', '/books', { body: { title: 'x', authorId: 99 } });
  t.match(missing, { status: 422, json: { error: { code: 'AUTHOR_NOT_FOUND' } } });
  t.match(await own('POST', '/books/99/reviews', { body: { text: 'x' } }), { status: 404, json: {} });
});

t.test('the parameters of this service, other representations and limits stay', async (t) => {
  const { send } = await libraryService(t);
  const get = (path: string) => send('GET', path);
  t.match((await get('/books?page=1&limit=2')).json.meta, { total: 40 });
  const message = /_like` must be a regular expression/;
  const refused = { status: 400, json: { error: { code: 'INVALID_QUERY', message } } };
  for (const pattern of ['(', '[', '*', '(?<a>b)'])
    t.match(await get(`/books?title_like=${encodeURIComponent(pattern)}`), refused);
  for (const [status, patterns] of [
    [
      400,
      `(a{1,50}){50} ((a{20}){20}){20} (?:a{16}b){16,} (a|b{9}c{20}){0,20} a{200}{2} (a*)*\\1
      (a)[(]{9}(x{30}){9} [a-c a{256} a{200}b{200}`,
    ],
    [200, 'a{255} a{15}b{17} (a+)+(b*)? (a{2}b){3} (a{5}|b)(c{10}|d){5} [{}(]{5}\\{9}\\( (?=a)(?!b{9})'],
  ] as const)
    for (const pattern of words(patterns))
      t.equal((await get(`/books?title_like=${encodeURIComponent(pattern)}`)).status, status, pattern);
  const fields = Array.from({ length: 21 }, (_, n) => `f${n}=1`);
  t.equal((await get(`/books?${fields.join('&')}`)).status, 400);
  t.equal((await get('/books?genre=%00')).status, 400);
  const csv = await send('GET', '/books', { headers: { accept: 'text/csv' } });
  t.match(csv.headers['content-type'], /csv/);
});
