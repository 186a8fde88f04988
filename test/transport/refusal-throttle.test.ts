import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { RefusalThrottle } from '../../src/transport/refusal-throttle.js';
import t from '../support/test.js';
import { untilLength } from '../support/until.js';

/** Refuses `count` requests in one tick. */
function refuse(count: number) {
  const throttle = new RefusalThrottle(() => 1000);
  const refused: number[] = [];
  const responses = Array.from({ length: count }, () => new EventEmitter());
  for (const [at, res] of responses.entries())
    throttle.pass(res as unknown as ServerResponse, () => refused.push(at));
  return { refused, responses };
}

t.test('refusals over the rate wait for their turn', async (t) => {
  const { refused } = refuse(30);
  t.same(refused, [0, 1, 2, 3, 4]);
  await untilLength('all are sent', () => refused, 30);
  t.equal(new Set(refused).size, 30);
});

t.test('only so many wait, and those whose client disconnects are not sent', async (t) => {
  const { refused, responses } = refuse(2508);
  t.same(refused, [0, 1, 2, 3, 4, 2505, 2506, 2507]);
  for (const res of responses.slice(6)) res.emit('close');
  await untilLength('the first is sent', () => refused, 9);
  t.equal(refused.at(-1), 5);
});
