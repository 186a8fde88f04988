import { callersOf, callsWith, declaredService } from '../support/callers.js';
import { declared, text } from '../support/declared.js';
import t, { type Test } from '../support/test.js';

const tasks = {
  title: { ...text, 'x-search': true },
  assigneeId: text,
  estimate: { type: 'number', 'x-index': true },
};

/** Everybody reads boards and their tasks; chores need a scope. */
const DECLARATIONS = {
  'boards.json': declared({ title: text }, { public: 'read' }),
  'tasks.json': declared(
    { ...tasks, boardId: { type: 'string', 'x-references': 'boards', 'x-on-delete': 'cascade' } },
    { public: 'read' },
  ),
  'chores.json': declared(tasks),
};

/** A service in which each of two callers and another one have a task, on a board each, and a chore. */
async function open(t: Test) {
  const service = await declaredService(t, DECLARATIONS, { AUTH: 'api-key' });
  const as = callersOf(service);
  const [ann, bob, stranger] = [await as('ann'), await as('bob'), callsWith(service)];
  for (const name of ['ann', 'bob', 'zoe']) {
    const board = (await ann('POST', '/boards', { title: name })).json;
    const task = { title: name, assigneeId: name };
    t.equal((await ann('POST', '/tasks', { ...task, boardId: board.id })).status, 201);
    t.equal((await ann('POST', '/chores', task)).status, 201);
  }
  const titles = async (call: typeof ann, path: string, method = 'GET', body?: unknown) => {
    const reply = await call(method, path, body);
    t.equal(reply.status, 200, `${path}: ${reply.text}`);
    return (reply.json.data ?? reply.json).map(({ title }: { title: string }) => title).sort();
  };
  return { ann, bob, stranger, titles };
}

t.test('$caller in a filter is the subject of the caller, and nothing without a credential', async (t) => {
  const { ann, bob, stranger, titles } = await open(t);
  const ALL = ['ann', 'bob', 'zoe'];
  const filters: readonly [string, (own: string) => readonly string[], readonly string[]][] = [
    ['filter[assigneeId]=$caller', (own) => [own], []],
    ['filter%5BassigneeId%5D=%24caller', (own) => [own], []],
    ['filter[assigneeId][in]=$caller', (own) => [own], []],
    ['filter[assigneeId][nin]=$caller', (own) => ALL.filter((each) => each !== own), []],
    ['filter[assigneeId][in]=$caller,zoe', (own) => [own, 'zoe'], ['zoe']],
    ['filter[assigneeId][in]=zoe&filter[assigneeId][in]=$caller', (own) => [own, 'zoe'], ['zoe']],
    [
      'filter[assigneeId][nin]=$caller,zoe',
      (own) => ['ann', 'bob'].filter((each) => each !== own),
      ['ann', 'bob'],
    ],
    ['filter[assigneeId][between]=$caller,zoe', (own) => ALL.filter((each) => each >= own), []],
    ['filter[id][in]=$caller,00000000-0000-7000-8000-000000000000', () => [], []],
    ['filter[not][assigneeId]=$caller', (own) => ALL.filter((each) => each !== own), ALL],
    ['filter[or][0][assigneeId]=$caller&filter[or][1][title]=zoe', (own) => [own, 'zoe'], ['zoe']],
    ['filter[estimate]=$caller', () => [], []],
  ];
  for (const [filter, expected, unknown] of filters) {
    for (const path of ['/tasks', '/chores', '/api/v2/tasks'])
      for (const [name, call] of [
        ['ann', ann],
        ['bob', bob],
      ] as const)
        t.same(await titles(call, `${path}?${filter}`), expected(name), `${path}?${filter} of ${name}`);
    t.same(await titles(stranger, `/tasks?${filter}`), unknown, filter);
  }
  const related = '/boards?filter[tasks][some][assigneeId]=$caller';
  t.same(await titles(ann, related), ['ann']);
  t.same(await titles(stranger, related), []);
  for (const value of ['$caller', { in: ['$caller'] }]) {
    const body = { filter: { assigneeId: value } };
    t.same(await titles(bob, '/tasks', 'QUERY', body), ['bob']);
    t.same(await titles(stranger, '/tasks', 'QUERY', body), []);
  }
  const several = { filter: { assigneeId: { in: ['$caller', 'zoe'] } } };
  t.same(await titles(bob, '/tasks', 'QUERY', several), ['bob', 'zoe']);
  t.same(await titles(stranger, '/tasks', 'QUERY', several), ['zoe']);
  const groups = await ann('GET', '/tasks?group=assigneeId&filter[assigneeId]=$caller');
  t.match(groups.json.data, [{ assigneeId: 'ann', count: 1 }]);
  t.equal(groups.json.data.length, 1);
  for (const filter of ['filter[title][contains]=$caller', 'filter[created_at][gte]=$caller'])
    t.equal((await ann('GET', `/api/v2/tasks?${filter}`)).status, 400, filter);
});

t.test('responses, cursors, writes and events by $caller are those of one caller', async (t) => {
  const { ann, bob, stranger, titles } = await open(t);
  const path = '/api/v2/tasks?filter[assigneeId][nin]=$caller&limit=1';
  const page = await ann('GET', path);
  const { etag } = page.headers;
  t.equal((await ann('GET', path, undefined, { 'if-none-match': String(etag) })).status, 304);
  t.equal((await bob('GET', path, undefined, { 'if-none-match': String(etag) })).status, 200);
  const { next } = page.json.links;
  t.equal((await ann('GET', next)).status, 200);
  for (const call of [bob, stranger])
    t.equal((await call('GET', next)).status, 400, 'a cursor of another list');
  const own = '/tasks?filter[assigneeId]=$caller';
  const both = await Promise.all(Array.from({ length: 20 }, (_, at) => titles(at % 2 ? ann : bob, own)));
  for (const [at, found] of both.entries()) t.same(found, [at % 2 ? 'ann' : 'bob'], 'at one time');
  const changed = await ann('PATCH', '/tasks?filter[assigneeId]=$caller', { estimate: 3 });
  t.match(changed.json, { meta: { matched: 1 } });
  t.same(await titles(bob, '/tasks?filter[estimate]=3'), ['ann']);
  for (const [call, count] of [
    [ann, 1],
    [bob, 0],
  ] as const) {
    const news = await call('GET', `/events?types=tasks.*&filter[estimate]=3&filter[assigneeId]=$caller`);
    t.equal(news.json.data?.length, count, news.text);
  }
});
