import { setImmediate as tick } from 'node:timers/promises';
import { SearchQueue, waitingSearches } from '../../src/db/search-queue.js';
import t from '../support/test.js';
import { until } from '../support/until.js';

const HOUR = 3_600_000;

/** A queue with the test's own clock, and its searches in the order in which they began. */
function queueOf(options: {
  concurrency?: number;
  deadlineMs?: number;
  maxCallers?: number;
  patienceMs?: number;
}) {
  const begun: { key: string; end: () => void; fail: () => void }[] = [];
  let ms = 0;
  const queue = new SearchQueue<string>({
    concurrency: 2,
    deadlineMs: HOUR,
    maxCallers: 1000,
    patienceMs: HOUR,
    now: () => ms,
    ...options,
  });
  const submit = (key: string) =>
    queue
      .submit(
        key,
        'search tests',
        () =>
          new Promise((resolve, reject) => {
            begun.push({ key, end: () => resolve(`found ${key}`), fail: () => reject(new Error(key)) });
          }),
      )
      .catch((error: Error) => error.message);
  return {
    begun,
    keys: () => begun.map(({ key }) => key).join(''),
    submit,
    pass: (time: number) => {
      ms += time;
    },
  };
}

const REFUSED = 'Too many searches wait for the database.';

t.test('searches begin in order, only so many run, and equal ones share one while they wait', async (t) => {
  const { begun, keys, submit } = queueOf({});
  const found = ['a', 'b', 'c', 'd', 'c'].map((key) => submit(key));
  t.equal(waitingSearches(), 5);
  await tick();
  t.equal(keys(), 'ab');
  t.equal(waitingSearches(), 3);
  begun[1]!.fail();
  await tick();
  t.equal(keys(), 'abc');
  begun[0]!.end();
  begun[2]!.end();
  await tick();
  begun[3]!.end();
  t.same(await Promise.all(found), ['found a', 'b', 'found c', 'found d', 'found c']);
  t.equal(waitingSearches(), 0);
});

/** A queue whose last search, `x`, has taken a second. */
async function expensiveQueue(options: Parameters<typeof queueOf>[0]) {
  const made = queueOf(options);
  const found = made.submit('x');
  await tick();
  made.pass(1000);
  made.begun[0]!.end();
  await found;
  return made;
}

t.test('one of equal expensive searches runs at a time, and the others share the next one', async (t) => {
  const { begun, keys, submit } = await expensiveQueue({});
  const found = [submit('a')];
  await tick();
  found.push(submit('a'), submit('b'), submit('a'));
  await tick();
  t.equal(keys(), 'xab', 'the second connection is for others');
  begun[1]!.end();
  await tick();
  t.equal(keys(), 'xaba', 'what began before a request is not its outcome');
  begun[2]!.end();
  begun[3]!.end();
  t.same(await Promise.all(found), ['found a', 'found a', 'found b', 'found a']);
});

t.test('equal searches do not wait for longer than half the deadline for one that runs', async (t) => {
  const { begun, keys, submit } = await expensiveQueue({ deadlineMs: 2 });
  const found = [submit('a')];
  await tick();
  found.push(submit('a'));
  await until('a second one runs', keys, (seen) => seen === 'xaa');
  for (const { end } of begun) end();
  t.same(await Promise.all(found), ['found a', 'found a']);
});

t.test('a search is refused when those ahead of it take longer than the deadline', async (t) => {
  const { begun, submit, pass } = queueOf({ concurrency: 1 });
  for (let count = 0; count < 50; count++) {
    const found = submit('a');
    await tick();
    pass(HOUR / 4);
    begun.at(-1)!.end();
    await found;
  }
  const found = ['a', 'b', 'c', 'd', 'e', 'f'].map((key) => submit(key));
  t.equal(await found[5]!, REFUSED, 'five quarters of an hour');
  t.equal(waitingSearches(), 5);
  for (let at = 50; at < 55; at++) {
    await tick();
    begun[at]!.end();
  }
  t.same(
    await Promise.all(found.slice(0, 5)),
    ['a', 'b', 'c', 'd', 'e'].map((key) => `found ${key}`),
  );
  for (let count = 0; count < 50; count++) {
    const again = submit('a');
    await tick();
    begun.at(-1)!.end();
    await again;
  }
  const many = Array.from({ length: 500 }, (_, at) => submit(`k${at}`));
  t.equal(waitingSearches(), 500, 'searches that cost little are not counted');
  for (let at = 105; at < 605; at++) {
    await tick();
    begun[at]!.end();
  }
  t.ok((await Promise.all(many)).every((outcome) => outcome.startsWith('found')));
});

t.test('a single slow search has none refused after it', async (t) => {
  const { begun, submit, pass } = queueOf({ concurrency: 1 });
  for (const costMs of [1, 1, 1, 1, 10 * HOUR]) {
    const found = submit('a');
    await tick();
    pass(costMs);
    begun.at(-1)!.end();
    await found;
  }
  const found = Array.from({ length: 100 }, (_, at) => submit(`k${at}`));
  t.equal(waitingSearches(), 100);
  for (let at = 5; at < 105; at++) {
    await tick();
    begun[at]!.end();
  }
  t.ok((await Promise.all(found)).every((outcome) => outcome.startsWith('found')));
});

t.test('without progress, the time since the last one began is the cost', async (t) => {
  const { begun, submit, pass } = queueOf({});
  const found = ['a', 'b', 'c', 'd'].map((key) => submit(key));
  await tick();
  pass(HOUR / 2 + 1);
  found.push(submit('e'));
  t.equal(await submit('f'), REFUSED, 'the fourth that waits: two turns of more than half an hour');
  for (let at = 0; at < 5; at++) {
    begun[at]!.end();
    await tick();
  }
  t.same(
    await Promise.all(found),
    ['a', 'b', 'c', 'd', 'e'].map((key) => `found ${key}`),
  );
});

t.test('only so many callers wait', async (t) => {
  const { begun, submit } = queueOf({ concurrency: 1, maxCallers: 3 });
  const found = ['a', 'b', 'b'].map((key) => submit(key));
  t.equal(await submit('b'), REFUSED);
  await tick();
  begun[0]!.end();
  await tick();
  begun[1]!.end();
  t.same(await Promise.all(found), ['found a', 'found b', 'found b']);
});

t.test('a search that lasts lets another begin, up to twice as many', async (t) => {
  const { begun, keys, submit } = queueOf({ concurrency: 1, patienceMs: 1 });
  const found = ['a', 'b', 'c'].map((key) => submit(key));
  await until('a second one runs', keys, (seen) => seen === 'ab');
  begun[0]!.end();
  await until('the third one runs', keys, (seen) => seen === 'abc');
  for (const { end } of begun) end();
  t.same(await Promise.all(found), ['found a', 'found b', 'found c']);
});

t.test('what has waited until the deadline is refused', async (t) => {
  const queue = new SearchQueue<string>({ concurrency: 1, deadlineMs: 20, maxCallers: 10, patienceMs: HOUR });
  let end: () => void = () => undefined;
  const first = queue.submit(
    'a',
    'search tests',
    () =>
      new Promise((resolve) => {
        end = () => resolve('found');
      }),
  );
  await tick();
  await t.rejects(
    queue.submit('b', 'search tests', async () => 'never'),
    { message: REFUSED },
  );
  end();
  t.equal(await first, 'found');
});

t.test(
  'a caller has all places but one until its work is released, and half of those that wait',
  async (t) => {
    const begun: string[] = [];
    const releases: (() => void)[] = [];
    const queue = new SearchQueue<void>({
      concurrency: 3,
      deadlineMs: HOUR,
      maxCallers: 8,
      patienceMs: HOUR,
    });
    const submit = (key: string, caller?: string) =>
      queue
        .submit(
          key,
          'search tests',
          async (release) => {
            begun.push(key);
            releases.push(release);
          },
          caller,
        )
        .catch((error: Error) => error.message);
    const own = ['a', 'b', 'c', 'd', 'e', 'f'].map((key) => submit(key, 'one'));
    t.equal(await own[4], REFUSED, 'half of those that wait are its own');
    t.equal(await own[5], REFUSED);
    const other = submit('x', 'two');
    await tick();
    t.same(begun, ['a', 'b', 'x'], 'the searches have ended, and their work goes on');
    await other;
    releases[0]!();
    releases[0]!();
    await tick();
    t.same(begun, ['a', 'b', 'x', 'c'], 'a release counts once');
    releases[1]!();
    await tick();
    t.same(begun, ['a', 'b', 'x', 'c', 'd']);
    for (const release of releases) release();
    await Promise.all([submit('y'), ...own.slice(0, 4)]);
    t.equal(waitingSearches(), 0);
  },
);
