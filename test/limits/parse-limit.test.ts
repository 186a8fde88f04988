import type { Problem } from '../../src/errors/problem.js';
import { ParseLimit } from '../../src/limits/parse-limit.js';
import t from '../support/test.js';

/** Enters a limit, and gives how many of those that wait have been admitted by now. */
function entering(limit: ParseLimit) {
  let admitted = 0;
  return {
    enter: (bytes: number) => {
      const waits = limit.enter(bytes);
      waits?.then(
        () => admitted++,
        () => undefined,
      );
      return waits;
    },
    admitted: () => admitted,
  };
}

const ticks = async (count: number) => {
  for (let tick = 0; tick < count; tick++) await new Promise((resolve) => setImmediate(resolve));
};

t.test('a short text is admitted at once and holds nothing', async (t) => {
  const limit = new ParseLimit(10_000);
  for (let count = 0; count < 100; count++) t.equal(limit.enter(4096), undefined);
});

t.test('one that is no long task is admitted at once while it fits', async (t) => {
  const limit = new ParseLimit(20_000);
  const { enter, admitted } = entering(limit);
  t.equal(enter(10_000), undefined);
  t.equal(enter(10_000), undefined);
  t.ok(enter(10_000), 'a third one waits');
  await ticks(5);
  t.equal(admitted(), 0);
  limit.leave(10_000);
  await ticks(5);
  t.equal(admitted(), 1);
});

t.test('longer ones are admitted one in a tick, in their order, as far as they fit', async (t) => {
  const limit = new ParseLimit(200_000);
  const { enter, admitted } = entering(limit);
  for (let count = 0; count < 4; count++) enter(100_000);
  await ticks(1);
  t.equal(admitted(), 1);
  await ticks(10);
  t.equal(admitted(), 2, 'two fit');
  limit.leave(100_000);
  await ticks(10);
  t.equal(admitted(), 3);
  limit.leave(100_000);
  limit.leave(100_000);
  await ticks(10);
  t.equal(admitted(), 4);
});

t.test('one that is larger than the limit is admitted alone', async (t) => {
  const limit = new ParseLimit(10_000);
  const { enter, admitted } = entering(limit);
  t.equal(enter(5000), undefined);
  enter(1_000_000);
  enter(5000);
  await ticks(10);
  t.equal(admitted(), 0);
  limit.leave(5000);
  await ticks(10);
  t.equal(admitted(), 1, 'the large one');
  limit.leave(1_000_000);
  await ticks(10);
  t.equal(admitted(), 2);
});

t.test('one more than may wait is 503, and so is one that waits too long', async (t) => {
  const limit = new ParseLimit(10_000, 1);
  const { enter } = entering(limit);
  enter(10_000);
  await ticks(2);
  const waits = Array.from({ length: 1024 }, () => limit.enter(10_000)!);
  const isUnavailable = (problem: Problem) =>
    problem.status === 503 && problem.code === 'SERVICE_UNAVAILABLE';
  await t.rejects(
    limit.enter(10_000)!.catch((problem) => {
      if (isUnavailable(problem)) throw new Error('503');
    }),
    { message: '503' },
  );
  const outcomes = await Promise.allSettled(waits);
  t.ok(outcomes.every((outcome) => outcome.status === 'rejected' && isUnavailable(outcome.reason)));
  limit.leave(10_000);
  t.equal(limit.enter(10_000), undefined, 'those that gave up no longer wait');
});
