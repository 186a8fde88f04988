import { createBatcher } from '../../src/db/batcher.js';
import { sharing } from '../../src/telemetry/instruments.js';
import { createDbMetrics } from '../../src/telemetry/metrics.js';
import { valuesOf } from '../support/callers.js';
import t from '../support/test.js';
import { until } from '../support/until.js';

const metrics = createDbMetrics();
const shared = () => sharing(metrics, 'read', 'tests');

/** A database that responds when the test says so, and records the statements it got. */
function database(gather?: { max: number; ms: number }) {
  const statements: { ids: readonly string[]; respond: () => void; fail: (error: Error) => void }[] = [];
  const read = createBatcher<string, { id: string } | undefined>(
    {
      max: 256,
      inFlight: 3,
      ...(gather && { gather }),
      waiting: 20_000,
      keyOf: (id) => id,
      sharing: shared(),
    },
    (ids) =>
      new Promise((resolve, reject) => {
        const respond = () => resolve(ids.map((id) => (id.startsWith('no') ? undefined : { id })));
        statements.push({ ids, respond, fail: reject });
      }),
  );
  return { statements, read };
}

const nextTick = () => new Promise<void>((done) => setImmediate(done));
/** As many ticks as a statement may wait for, and the one in which it is sent. */
const ticks = async () => {
  for (let passed = 0; passed < 3; passed++) await nextTick();
};

t.test('reads of one tick are one statement, and each gets its own row', async (t) => {
  const { statements, read } = database();
  const reads = [read('a'), read('b'), read('a'), read('none')];
  await ticks();
  t.same(valuesOf(statements, 'ids'), [['a', 'b', 'none']]);
  statements[0]!.respond();
  t.same(await Promise.all(reads), [{ id: 'a' }, { id: 'b' }, { id: 'a' }, undefined]);
});

t.test('a read never joins a statement that was sent before it was requested', async (t) => {
  const { statements, read } = database();
  const first = read('a');
  await ticks();
  const second = read('a');
  await ticks();
  t.equal(statements.length, 2);
  for (const { respond } of statements) respond();
  t.same(await Promise.all([first, second]), [{ id: 'a' }, { id: 'a' }]);
});

t.test('statements are bounded in keys and in number, and nobody is forgotten', async (t) => {
  const { statements, read } = database();
  const reads = Array.from({ length: 1000 }, (_, n) => read(`k${n}`));
  await ticks();
  await ticks();
  t.equal(statements.map(({ ids }) => ids.length).join(), '256,256,256');
  for (let done = 0; done < statements.length; done++) {
    statements[done]!.respond();
    await ticks();
  }
  for (const [n, row] of (await Promise.all(reads)).entries()) t.equal(row?.id, `k${n}`);
});

t.test('while one is in flight, the next gathers as many as that one had, or so many', async (t) => {
  const { statements, read } = database({ max: 4, ms: 60_000 });
  const sizes = () => statements.map(({ ids }) => ids.length);
  const reads: Promise<unknown>[] = [];
  const ask = async (count: number) => {
    for (let n = 0; n < count; n++) reads.push(read(`k${reads.length}`));
    await ticks();
  };
  await ask(3);
  await ask(2);
  t.same(sizes(), [3]);
  await ask(1);
  t.same(sizes(), [3, 3], 'as many');
  await ask(2);
  statements[0]!.respond();
  await ticks();
  t.same(sizes(), [3, 3], 'one is still in flight');
  statements[1]!.respond();
  await ticks();
  t.same(sizes(), [3, 3, 2], 'none is');
  await ask(100);
  await ask(4);
  t.same(sizes(), [3, 3, 2, 100, 4], 'no more than so many');
  for (const { respond } of statements) respond();
  t.same((await Promise.all(reads)).length, 112);
});

t.test('nobody gathers for a statement that takes long, or that failed', async (t) => {
  const { statements, read } = database({ max: 4, ms: 1 });
  const first = [read('a'), read('b')];
  await ticks();
  const second = read('c');
  await until('it is sent all the same', () => statements.length, 2);
  const third = read('d');
  statements[1]!.fail(new Error('lost'));
  await t.rejects(second, /lost/);
  await until('so is the next', () => statements.length, 3);
  for (const { respond } of statements) respond();
  t.same(await Promise.all([...first, third]), [{ id: 'a' }, { id: 'b' }, { id: 'd' }]);
});

t.test('an error reaches those whose statement it was, and no others', async (t) => {
  const { statements, read } = database();
  const first = [read('a'), read('b')];
  await ticks();
  const second = read('c');
  await ticks();
  statements[0]!.fail(new Error('lost'));
  statements[1]!.respond();
  for (const one of first) await t.rejects(one, /lost/);
  t.same(await second, { id: 'c' });
});

t.test('more waiting reads than the bound are refused', async (t) => {
  const { statements, read } = database();
  const reads = Array.from({ length: 20_001 }, (_, n) => read(`k${n}`));
  await t.rejects(reads.at(-1)!, /is waiting for the database/);
  reads.pop();
  await ticks();
  for (let done = 0; done < statements.length; done++) {
    statements[done]!.respond();
    await ticks();
  }
  t.equal((await Promise.all(reads)).length, 20_000);
});

t.test('items go by weight, in order, and one that weighs too much goes alone', async (t) => {
  const batches: (readonly number[])[] = [];
  const write = createBatcher<number, string>(
    { max: 10, inFlight: 1, waiting: 60, weigh: (item) => item, sharing: shared() },
    async (items) => {
      batches.push(items);
      return items.map(String);
    },
  );
  const done = [3, 3, 5, 30, 2, 8].map(write);
  await t.rejects(write(10), /is waiting for the database/);
  t.same(await Promise.all(done), ['3', '3', '5', '30', '2', '8']);
  t.same(batches, [[3, 3], [5], [30], [2, 8]]);
  t.equal(await write(60), '60', 'what went no longer counts as waiting');
});

t.test('an outcome that takes longer holds up nobody else', async (t) => {
  let late = (_: string) => {};
  const write = createBatcher<string, string>(
    { max: 9, inFlight: 1, waiting: 9, sharing: shared() },
    async (items) =>
      items.map((item) =>
        item === 'late'
          ? new Promise<string>((resolve) => {
              late = resolve;
            })
          : item === 'bad'
            ? Promise.reject(new Error('refused'))
            : item,
      ),
  );
  const [slow, bad, quick] = [write('late'), write('bad'), write('quick')];
  await t.rejects(bad, /refused/);
  t.equal(await quick, 'quick');
  t.equal(await write('next'), 'next');
  late('there');
  t.equal(await slow, 'there');
});

t.test('an item is settled before the others, and the rest when the statement ends or fails', async (t) => {
  const ends: (readonly [resolve: (rest: string[]) => void, reject: (error: Error) => void])[] = [];
  const settles: ((place: number, outcome: string) => void)[] = [];
  const read = createBatcher<string, string>(
    { max: 9, inFlight: 1, waiting: 9, keyOf: (item) => item, sharing: shared() },
    (_, settle) => {
      settles.push(settle);
      return new Promise((resolve, reject) => ends.push([resolve, reject]));
    },
  );
  const first = ['a', 'b', 'b'].map(read);
  await ticks();
  settles[0]!(1, 'early');
  t.same(await Promise.all(first.slice(1)), ['early', 'early'], 'all callers of the item');
  const waiting = read('c');
  await ticks();
  t.equal(settles.length, 1, 'the statement is still in flight');
  ends[0]![0](['late']);
  t.equal(await first[0], 'late');
  await ticks();
  const other = read('d');
  settles[1]!(0, 'early');
  ends[1]![1](new Error('lost'));
  t.equal(await waiting, 'early');
  await ticks();
  ends[2]![1](new Error('lost'));
  await t.rejects(other, /lost/);
});
