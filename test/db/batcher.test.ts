import { createBatcher } from '../../src/db/batcher.js';
import { sharing } from '../../src/telemetry/instruments.js';
import { createDbMetrics } from '../../src/telemetry/metrics.js';
import t from '../support/test.js';
import { until } from '../support/until.js';

const metrics = createDbMetrics();
const shared = () => sharing(metrics, 'read', 'tests');

/** A database that responds when the test says so, and records the statements it got. */
function database(gather?: { max: number; ms: number; isAlone?: boolean }) {
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
  t.same(
    statements.map(({ ids }) => ids),
    [['a', 'b', 'none']],
  );
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
  t.same(
    statements.map(({ ids }) => ids.length),
    [256, 256, 256],
  );
  for (let done = 0; done < statements.length; done++) {
    statements[done]!.respond();
    await ticks();
  }
  t.same(
    (await Promise.all(reads)).map((row) => row?.id),
    reads.map((_, n) => `k${n}`),
  );
});

t.test('after a statement of several a read of the next tick joins, after a single one not', async (t) => {
  const { statements, read } = database();
  const sizes = () => statements.map(({ ids }) => ids.length);
  const reads = [read('a'), read('b')];
  await nextTick();
  t.same(sizes(), [2]);
  statements[0]!.respond();
  await Promise.all(reads);
  reads.push(read('c'));
  await nextTick();
  t.same(sizes(), [2], 'one tick more');
  reads.push(read('d'));
  await ticks();
  t.same(sizes(), [2, 2]);
  statements[1]!.respond();
  await Promise.all(reads);
  reads.push(read('e'));
  await ticks();
  reads.push(read('f'));
  await nextTick();
  t.same(sizes(), [2, 2, 1, 1]);
  for (const { respond } of statements.slice(2)) respond();
  await Promise.all(reads);
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

t.test('so many go at once while the database is idle, and half of them with its response', async (t) => {
  const { statements, read } = database({ max: 4, ms: 60_000 });
  const sizes = () => statements.map(({ ids }) => ids.length);
  const ask = (count: number, name: string) => Array.from({ length: count }, (_, n) => read(`${name}${n}`));
  const reads = ask(3, 'a');
  t.same(sizes(), [], 'three wait for the end of the tick');
  reads.push(...ask(1, 'b'), ...ask(2, 'c'));
  t.same(sizes(), [4], 'four do not');
  await ticks();
  t.same(sizes(), [4], 'a later read waits, though the end of the tick was planned for');
  statements[0]!.respond();
  await reads[0];
  t.same(sizes(), [4, 2], 'two go with the response');
  reads.push(...ask(1, 'd'));
  await ticks();
  statements[1]!.respond();
  await reads[4];
  t.same(sizes(), [4, 2], 'one waits for the end of the tick');
  await ticks();
  t.same(sizes(), [4, 2, 1]);
  statements[2]!.respond();
  t.equal((await Promise.all(reads)).length, 7);
});

t.test('a statement that is to be alone goes when the last one ends', async (t) => {
  const { statements, read } = database({ max: 4, ms: 60_000, isAlone: true });
  const sizes = () => statements.map(({ ids }) => ids.length);
  const ask = (count: number, name: string) => Array.from({ length: count }, (_, n) => read(`${name}${n}`));
  const reads = ask(4, 'a');
  t.same(sizes(), [4], 'four go at once');
  reads.push(...ask(9, 'b'));
  await ticks();
  t.same(sizes(), [4], 'however many wait');
  statements[0]!.respond();
  await reads[0];
  t.same(sizes(), [4, 9], 'they go with the response');
  statements[1]!.respond();
  t.equal((await Promise.all(reads)).length, 13);
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
