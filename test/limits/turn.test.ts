import { nextTurn, replaceTurnClock, turn } from '../../src/limits/turn.js';
import { declare } from '../support/collections.js';
import { testService } from '../support/service.js';
import t, { type Test } from '../support/test.js';

const tick = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Steps of work, of which each lasts a millisecond of the clock of turns, and the most of them in one tick. */
function countSteps(t: Test): { readonly all: () => number; readonly most: () => number } {
  let [all, ofTick, most] = [0, 0, 0];
  let isOver = false;
  t.teardown(
    replaceTurnClock(() => {
      ofTick++;
      most = Math.max(most, ofTick);
      return ++all;
    }),
  );
  t.teardown(() => {
    isOver = true;
  });
  const next = () => {
    ofTick = 0;
    if (!isOver) setImmediate(next);
  };
  setImmediate(next);
  return { all: () => all, most: () => most };
}

t.test('loops share the milliseconds of a tick', async (t) => {
  let now = 0;
  t.teardown(replaceTurnClock(() => now));
  await tick();
  t.equal(turn(), undefined, 'the first one begins');
  now = 7;
  t.equal(turn(), undefined);
  now = 8;
  const begun: string[] = [];
  const wait = async (name: string, turned: Promise<void> | undefined) => {
    t.ok(turned, `${name} waits`);
    await turned;
    begun.push(name);
  };
  void wait('a', turn());
  void wait('b', turn());
  void wait('c', nextTurn());
  t.same(begun, []);
  for (const expected of [['a'], ['a', 'b'], ['a', 'b', 'c']]) {
    await tick();
    t.same(begun, expected, 'one begins in each tick');
  }
  await tick();
  t.equal(turn(), undefined, 'a new tick');
});

const ALL = {
  'notes.json': { type: 'object', properties: { title: { type: 'string', maxLength: 10 } } },
};
const COUNT = 300;
const lines = (line: string) => `${line}\n`.repeat(COUNT);

for (const [name, path, type, body, status, steps] of [
  ['NDJSON', '/notes', 'application/x-ndjson', lines('{"title":"a"}'), 201, 2 * COUNT],
  ['invalid NDJSON', '/notes', 'application/x-ndjson', lines('{"title":1}'), 422, 3 * COUNT],
  ['broken NDJSON', '/notes', 'application/x-ndjson', lines('{'), 422, COUNT],
  ['CSV', '/notes', 'text/csv', `title\n${lines('a')}`, 201, 2 * COUNT],
  ['CSV of other cells', '/notes', 'text/csv', `title\n${lines('a,b')}`, 422, 2 * COUNT],
  ['blank lines', '/notes', 'application/x-ndjson', '\n'.repeat(3_000_000), 201, 10],
] as const)
  t.test(`other requests are served between the steps of ${name}`, async (t) => {
    const { send } = await testService(t, { COLLECTIONS: declare(t, ALL), MIGRATE: 'auto' });
    const counted = countSteps(t);
    const response = await send('POST', path, { type, body });
    t.equal(response.status, status);
    t.ok(counted.all() >= steps, `${counted.all()} steps`);
    // The step that waits is counted as well.
    t.ok(counted.most() <= 10, `${counted.most()} steps in one tick`);
  });

t.test('other requests are served between the lines of a list, and parts of long JSON', async (t) => {
  const { send } = await testService(t, { COLLECTIONS: declare(t, ALL), MIGRATE: 'auto' });
  await send('POST', '/notes', { type: 'application/x-ndjson', body: lines('{"title":"a"}') });
  for (const [method, path, options, steps] of [
    ['GET', '/notes', { headers: { accept: 'text/csv' } }, COUNT],
    ['GET', '/notes?fields=title', { headers: { accept: 'application/x-ndjson' } }, COUNT],
    ['POST', '/notes', { body: { a: new Array(500_000).fill(0) } }, 3],
    ['POST', '/notes', { body: { a: new Array(40_000).fill(0.1234567890123456) } }, 5],
  ] as const) {
    const counted = countSteps(t);
    t.match((await send(method, path, options)).status, /20[01]/);
    t.ok(counted.all() >= steps, `${method} ${path}: ${counted.all()} steps`);
    t.ok(counted.most() <= 10, `${counted.most()} steps in one tick`);
  }
});
