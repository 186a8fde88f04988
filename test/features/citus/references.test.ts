import { declare } from '../../support/collections.js';
import { testService } from '../../support/service.js';
import t from '../../support/test.js';
import { untilLength } from '../../support/until.js';

const ABSENT = '019b0000-0000-7000-8000-000000000009';
const reference = (to: string, onDelete: string) => ({
  type: 'string',
  'x-references': to,
  'x-on-delete': onDelete,
});
/** Children of children, and references for which no foreign key is possible. */
const COLLECTIONS = {
  writers: { type: 'object', properties: { name: { type: 'string' } } },
  books: {
    type: 'object',
    required: ['writerId'],
    properties: { writerId: reference('writers', 'cascade') },
    'x-collection': { nested: true },
  },
  chapters: {
    type: 'object',
    required: ['bookId'],
    properties: { bookId: reference('books', 'cascade'), slug: { type: 'string', 'x-unique': true } },
    'x-collection': { nested: true },
  },
  copies: {
    type: 'object',
    properties: { bookId: reference('books', 'null'), shelfId: reference('shelves', 'restrict') },
  },
  shelves: { type: 'object', properties: { name: { type: 'string' } } },
  groups: { type: 'object', properties: { groupId: reference('groups', 'cascade') } },
};

const FILES = Object.fromEntries(Object.entries(COLLECTIONS).map(([name, each]) => [`${name}.json`, each]));

t.test('children move with their parent, and what refers to a deleted record follows its rule', async (t) => {
  const { send } = await testService(t, { COLLECTIONS: declare(t, FILES), MIGRATE: 'auto' });
  const create = async (path: string, body: object) => (await send('POST', path, { body })).json.id as string;
  const status = async (path: string) => (await send('GET', path)).status;
  const codeOf = async (method: string, path: string, body?: object) =>
    (await send(method, path, body ? { body } : {})).json?.error?.code;
  const [one, two] = [await create('/writers', {}), await create('/writers', {})];
  const book = await create(`/writers/${one}/books`, { title: 'B' });
  const moved = await send('PATCH', `/books/${book}`, { body: { writerId: two } });
  t.match(moved, { status: 200, json: { writerId: two, _version: 2 } });
  t.same((await send('GET', `/writers/${one}/books`)).json, []);
  t.equal((await send('GET', `/writers/${two}/books`)).json[0].id, book);
  t.equal((await send('PATCH', `/books/${book}`, { body: { writerId: ABSENT } })).status, 422);

  const chapter = await create(`/books/${book}/chapters`, { slug: 'one' });
  t.equal(await codeOf('POST', `/books/${book}/chapters`, { slug: 'one' }), 'DUPLICATE');
  await send('PATCH', `/chapters/${chapter}`, { body: { slug: 'two' } });
  await create(`/books/${book}/chapters`, { slug: 'one' });
  t.equal(await codeOf('PATCH', `/chapters/${chapter}`, { slug: 'one' }), 'DUPLICATE');
  const shelf = await create('/shelves', {});
  const copy = await create('/copies', { bookId: book, shelfId: shelf });
  t.equal(await codeOf('DELETE', `/shelves/${shelf}`), 'REFERENCED');
  t.equal((await send('DELETE', `/writers/${two}`)).status, 204);
  t.same([await status(`/books/${book}`), await status(`/chapters/${chapter}`)], [404, 404]);
  const { json: left } = await send('GET', `/copies/${copy}`);
  t.match(left, { shelfId: shelf, _version: 2 });
  t.notOk('bookId' in left);
  const other = await create(`/writers/${one}/books`, {});
  const again = await send('POST', `/books/${other}/chapters`, { body: { slug: 'two' } });
  t.equal(again.status, 201, 'free again');

  const published = async () => (await send('GET', '/events?limit=1000')).json.data;
  const events = await untilLength('all events are published', published, 16);
  const last = events.slice(-7).map(({ type }: { type: string }) => type.replace(/^.*\.(\w+\.\w+)$/, '$1'));
  t.same(last.slice(0, 3).sort(), ['chapters.deleted', 'chapters.deleted', 'copies.updated']);
  t.same(last.slice(3), ['books.deleted', 'writers.deleted', 'books.created', 'chapters.created']);
});

t.test('records that refer to each other are deleted together', async (t) => {
  const { send } = await testService(t, { COLLECTIONS: declare(t, FILES), MIGRATE: 'auto' });
  const create = async (body: object) => (await send('POST', '/groups', { body })).json.id as string;
  const outer = await create({});
  const inner = await create({ groupId: outer });
  const alone = await create({});
  for (const [id, groupId] of [
    [outer, inner],
    [alone, alone],
  ])
    t.equal((await send('PATCH', `/groups/${id}`, { body: { groupId } })).status, 200);
  for (const id of [outer, alone]) t.equal((await send('DELETE', `/groups/${id}`)).status, 204);
  const { json: page } = await send('GET', '/groups?page=1');
  t.match(page, { data: [], meta: { total: 0 } });
  t.equal(page.data.length, 0);
  for (const method of ['PUT', 'PATCH'])
    t.equal((await send(method, `/books/${ABSENT}`, { body: { writerId: ABSENT } })).status, 404);
  t.equal((await send('DELETE', `/books/${ABSENT}`)).status, 204);
});
