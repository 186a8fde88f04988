import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { MAX_DELAYED, RefusalThrottle } from '../../src/transport/refusal-throttle.js';
import t from '../support/test.js';
import { until, untilLength } from '../support/until.js';

/** Refuses `count` requests in one tick. */
function refuse(count: number) {
  const throttle = new RefusalThrottle();
  const refused: number[] = [];
  const responses = Array.from({ length: count }, () => new EventEmitter());
  for (const [at, res] of responses.entries())
    throttle.pass(res as unknown as ServerResponse, () => refused.push(at));
  return { throttle, refused, responses };
}

t.test('refusals over the rate wait for their turn, in order', async (t) => {
  const { refused } = refuse(30);
  t.same(refused, [0, 1, 2, 3, 4]);
  await untilLength('all are sent', () => refused, 30);
  t.same(
    refused,
    Array.from({ length: 30 }, (_, at) => at),
  );
});

t.test('only so many wait, and those whose client disconnects are not sent', async (t) => {
  const { refused, responses } = refuse(MAX_DELAYED + 8);
  t.same(refused, [0, 1, 2, 3, 4, MAX_DELAYED + 5, MAX_DELAYED + 6, MAX_DELAYED + 7]);
  const last = MAX_DELAYED + 4;
  for (const res of responses.slice(5, last)) res.emit('close');
  await until(
    'the last is sent',
    () => refused.includes(last),
    (isSent) => isSent,
  );
  t.equal(refused.length, 9);
});

t.test('a refusal within the throttled ones waits behind them', async (t) => {
  const { throttle, refused } = refuse(40);
  throttle.pass(new EventEmitter() as unknown as ServerResponse, () => refused.push(40));
  await untilLength('all are sent', () => refused, 41);
  t.equal(refused.at(-1), 40);
});
