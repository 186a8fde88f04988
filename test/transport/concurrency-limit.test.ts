import t from 'tap';
import { ConcurrencyLimit } from '../../src/transport/concurrency-limit.js';

/** A limit with the test's own clock. `serve` completes `rate` requests per millisecond for `time`. */
function limitOf(max: number) {
  let ms = 0;
  const limit = new ConcurrencyLimit(max, () => ms);
  const wait = (time: number) => {
    ms += time;
  };
  const serve = (rate: number, time: number, inFlight: number) => {
    for (let at = 0; at < time; at += 10) {
      wait(10);
      for (let count = 0; count < rate * 10; count++) limit.completed();
      limit.admits(inFlight, false);
    }
  };
  const admits = (inFlight: number, isRetry: boolean) => limit.admits(inFlight, isRetry);
  return { admits, refused: () => limit.refused(), wait, serve };
}

t.test('the configured maximum is admitted, however long requests last', async (t) => {
  const { admits, serve } = limitOf(1000);
  serve(1, 5000, 900);
  t.ok(admits(999, false));
  t.notOk(admits(1000, false));
});

t.test(
  'after an overflow, what completes in 10 ms is admitted, until a second passes without a refusal',
  async (t) => {
    const { admits, serve, wait, refused } = limitOf(1000);
    serve(10, 1000, 500);
    t.notOk(admits(1000, false));
    t.ok(admits(99, false));
    t.notOk(admits(100, false));
    wait(999);
    t.notOk(admits(100, false), 'which begins the second again');
    wait(999);
    t.notOk(admits(50, true), 'as does a retry');
    wait(999);
    refused();
    wait(999);
    t.notOk(admits(100, false), 'and a refusal of a later queue');
    wait(1000);
    t.ok(admits(999, false));
  },
);

t.test('at least 64 are admitted, and never more than configured', async (t) => {
  const stuck = limitOf(1000);
  stuck.serve(0, 1000, 1000);
  t.ok(stuck.admits(63, false));
  t.notOk(stuck.admits(64, false));
  const small = limitOf(2);
  small.serve(100, 1000, 2);
  t.notOk(small.admits(2, false));
  t.ok(small.admits(1, false));
});

t.test('a pause does not lower the rate', async (t) => {
  const { admits, serve, wait } = limitOf(1000);
  serve(10, 500, 500);
  wait(300);
  t.notOk(admits(1000, false));
  t.ok(admits(99, false));
});

t.test('retries are admitted only with spare capacity while requests are refused', async (t) => {
  const { admits, serve, wait, refused } = limitOf(1000);
  t.ok(admits(0, true), 'without refusals');
  serve(10, 1000, 80);
  t.ok(admits(80, true), 'nor here');
  refused();
  t.ok(admits(900, false), 'a refusal of a later queue does not affect other requests');
  t.notOk(admits(10, true), 'more than 50 were in flight just now');
  serve(10, 300, 40);
  t.ok(admits(10, true), 'half of the capacity is enough');
  serve(0.01, 1500, 2);
  refused();
  t.ok(admits(2, true), 'with few requests in flight');
  serve(0.01, 300, 6);
  t.notOk(admits(2, true));
  wait(1000);
  t.ok(admits(500, true), 'a second after the last refusal');
});
