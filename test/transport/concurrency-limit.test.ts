import { ConcurrencyLimit } from '../../src/transport/concurrency-limit.js';
import t from '../support/test.js';

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
      for (let count = 0; count < rate * 10; count++) limit.completed++;
      limit.admits(inFlight);
    }
  };
  const admits = (inFlight: number) => limit.admits(inFlight);
  return { admits, wait, serve };
}

t.test('the configured maximum is admitted, however long requests last', async (t) => {
  const { admits, serve } = limitOf(1000);
  serve(1, 5000, 900);
  t.ok(admits(999));
  t.notOk(admits(1000));
});

t.test('after an overflow, what completes in 10 ms is admitted, until no refusal', async (t) => {
  const { admits, serve, wait } = limitOf(1000);
  serve(10, 1000, 500);
  t.notOk(admits(1000));
  t.ok(admits(99));
  t.notOk(admits(100));
  wait(999);
  t.notOk(admits(100), 'which begins the second again');
  wait(1000);
  t.ok(admits(999));
});

t.test('at least 64 are admitted, and never more than configured', async (t) => {
  const stuck = limitOf(1000);
  stuck.serve(0, 1000, 1000);
  t.ok(stuck.admits(63));
  t.notOk(stuck.admits(64));
  const small = limitOf(2);
  small.serve(100, 1000, 2);
  t.notOk(small.admits(2));
  t.ok(small.admits(1));
});

t.test('a pause does not lower the rate', async (t) => {
  const { admits, serve, wait } = limitOf(1000);
  serve(10, 500, 500);
  wait(300);
  t.notOk(admits(1000));
  t.ok(admits(99));
});
