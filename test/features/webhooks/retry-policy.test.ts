import { outcomeOf } from '../../../src/features/webhooks/dispatcher.js';
import { mockClock } from '../../support/pause.js';
import t from '../../support/test.js';

const response = (status: number | undefined, retryAfter?: string, error?: string) =>
  ({ status, error, excerpt: '', retryAfter }) as const;
const RETRIES = [10, 100, 1000];
const DELIVERED = { outcome: 'delivered', disable: false };
const first = { tries: 1, age: 0 };

t.test('what a status means', async (t) => {
  for (const status of [200, 201, 202, 204, 299])
    t.match(outcomeOf(response(status), first, RETRIES), DELIVERED, `${status}`);
  t.match(outcomeOf(response(410), first, RETRIES), { outcome: 'dead', disable: true });
  for (const status of [300, 301, 304, 307, 400, 401, 404, 409, 429, 500, 503, 599])
    t.match(outcomeOf(response(status), first, RETRIES), { outcome: 'retry', disable: false }, `${status}`);
  for (const error of ['TIMEOUT', 'ECONNREFUSED', 'ADDRESS_REFUSED'])
    t.match(outcomeOf(response(undefined, undefined, error), first, RETRIES), { outcome: 'retry', error });
  t.match(outcomeOf(response(undefined, undefined, 'STOPPED'), first, RETRIES), {
    outcome: 'back',
    delay: 0,
  });
});

t.test('each delay is that of the plan, a fifth more or less', async (t) => {
  for (const [index, seconds] of RETRIES.entries())
    for (const [random, factor] of [
      [0, 0.8],
      [0.5, 1],
      [1, 1.2],
    ] as const) {
      const tried = { tries: index + 1, age: 0 };
      const { outcome, delay } = outcomeOf(response(500), tried, RETRIES, () => random);
      t.equal(outcome, 'retry');
      t.equal(delay.toFixed(6), (seconds * factor).toFixed(6));
    }
  t.match(outcomeOf(response(500), { tries: 4, age: 0 }, RETRIES), { outcome: 'dead', disable: false });
});

t.test('what has been due for much longer than the plan gets no further try', async (t) => {
  const longest = 600 + 1.5 * 1110;
  t.equal(outcomeOf(response(500), { tries: 1, age: longest - 1 }, RETRIES).outcome, 'retry');
  t.equal(outcomeOf(response(500), { tries: 1, age: longest + 1 }, RETRIES).outcome, 'dead');
});

t.test('Retry-After is honoured when it is longer than the plan, up to a day', async (t) => {
  const delayOf = (field: string) => outcomeOf(response(503, field), first, RETRIES, () => 0.5).delay;
  t.equal(delayOf('60'), 60);
  t.equal(delayOf('3'), 10);
  t.equal(delayOf('999999'), 86_400);
  const clock = mockClock(t);
  clock.ms = 1_800_000_000_000;
  t.equal(delayOf(new Date(clock.ms + 600_000).toUTCString()), 600);
  for (const field of ['', 'soon', '-5', '1e9', '9'.repeat(30), new Date(0).toUTCString()])
    t.equal(delayOf(field), 10, field);
});
