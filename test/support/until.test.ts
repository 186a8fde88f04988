import t from './test.js';
import { until, untilAtLeast, untilLength } from './until.js';

t.test('a wait ends with the first accepted value, a number of values, or at least so many', async (t) => {
  let looks = 0;
  t.equal(await until('it is there', () => (++looks < 3 ? undefined : looks)), 3);
  const isFalse = (seen: boolean) => !seen;
  t.equal(await until('it is false', () => looks++ < 5, isFalse), false);
  looks = 0;
  t.equal(await until('it is the third', () => ++looks, 3), 3);
  t.same(await untilLength('there are two', () => 'abc'.slice(0, looks++ % 3), 2), 'ab');
  t.equal(await untilAtLeast('it is large', () => ++looks, 9), 9);
  t.same(await untilAtLeast('there are some', () => 'a'.repeat(looks++ - 9), 2), 'aa');
});

t.test('a state that does not come is reported with the last value', async (t) => {
  const never = until(
    'all are read',
    () => Promise.resolve(['one']),
    ({ length }) => length === 2,
    100,
  );
  await t.rejects(never, {
    message: /^waited 0\.1 s in vain until all are read: \d+ looks, last seen: \[ 'one' \]$/,
  });
  const long = until(
    'it is short',
    () => 'x'.repeat(10_000),
    () => false,
    1,
  );
  await t.rejects(long, { message: /^waited [^x]+'x{1999}…$/ });
});

t.test('an error of the probe ends the wait at once, with the last value', async (t) => {
  let looks = 0;
  const cause = new Error('it ended with 1');
  const failing = until('it is ready', () => {
    if (++looks === 2) throw cause;
    return false;
  });
  await t.rejects(failing, {
    message: 'until it is ready: it ended with 1 (look 2, last seen: false)',
    cause,
  });
});

t.test('a probe that does not end is reported', async (t) => {
  const hanging = until(
    'it responds',
    () => new Promise<boolean>(() => undefined),
    () => true,
    1,
  );
  await t.rejects(hanging, { message: /^until it responds: the probe did not end in time/ });
});
