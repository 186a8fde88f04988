import { CoalescedRuns } from '../../src/work/shared-runs.js';
import t from '../support/test.js';

/** A loop whose runs the test ends. */
function controlled() {
  const ends: (() => void)[] = [];
  const loop = new CoalescedRuns(() => new Promise((resolve) => ends.push(resolve)));
  const tick = () => new Promise((resolve) => setImmediate(resolve));
  return { loop, ends, tick };
}

t.test('requests during a run lead to one more run', async (t) => {
  const { loop, ends, tick } = controlled();
  loop.request();
  loop.request();
  loop.request();
  t.equal(ends.length, 1, 'once at a time');
  ends[0]!();
  await tick();
  t.equal(ends.length, 2);
  ends[1]!();
  await tick();
  t.equal(ends.length, 2, 'and no further run');
  loop.request();
  t.equal(ends.length, 3);
  ends[2]!();
});

t.test('stop waits for the present run and prevents others', async (t) => {
  const { loop, ends, tick } = controlled();
  loop.request();
  loop.request();
  let isStopped = false;
  const stopping = loop.stop().then(() => {
    isStopped = true;
  });
  await tick();
  t.notOk(isStopped);
  ends[0]!();
  await stopping;
  loop.request();
  t.equal(ends.length, 1);
});
