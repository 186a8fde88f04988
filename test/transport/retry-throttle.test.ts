import { EventEmitter, once } from 'node:events';
import type { Socket } from 'node:net';
import { setImmediate as tick } from 'node:timers/promises';
import t from 'tap';
import { RetryThrottle, TICK_MS } from '../../src/transport/retry-throttle.js';

/** The part of a socket that the throttle uses. */
class Connection extends EventEmitter {
  destroyed = false;
  isPaused = false;

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
    this.emit('resumed');
  }

  close(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

/** Refuses `count` connections in one tick. */
async function refuse(maxPaused: number, count: number, closedBefore = 0) {
  const throttle = new RetryThrottle(maxPaused);
  const connections = Array.from({ length: count }, () => new Connection());
  for (const connection of connections) throttle.refused(connection as unknown as Socket);
  for (const connection of connections.slice(count - closedBefore)) connection.close();
  await tick();
  return { throttle, connections, paused: connections.filter(({ isPaused }) => isPaused) };
}

t.test('connections over the rate are paused until their turn, and their requests are retries', async (t) => {
  const { throttle, connections, paused } = await refuse(100, 30);
  t.ok(paused.length > 0 && paused.length < connections.length);
  const last = paused.at(-1)!;
  await once(last, 'resumed');
  t.ok(throttle.isRetry(last as unknown as Socket));
  t.notOk(
    connections.some(({ isPaused }) => isPaused),
    'in order',
  );
  await tick();
  await tick();
  t.notOk(throttle.isRetry(last as unknown as Socket));
});

t.test('the number of paused connections is limited, and closed ones are not paused', async (t) => {
  t.equal((await refuse(4, 30)).paused.length, 4);
  t.equal((await refuse(100, 30, 30)).paused.length, 0, 'closed before the end of the tick');
  const { paused } = await refuse(100, 30);
  const [closed, open] = [paused.slice(0, -1), paused.at(-1)!];
  for (const connection of closed) connection.close();
  await once(open, 'resumed');
  t.ok(
    closed.every(({ isPaused }) => isPaused),
    'a connection that was closed meanwhile is not resumed',
  );
});

t.test('a connection that is paused repeatedly is followed once', async (t) => {
  const throttle = new RetryThrottle(100);
  const [first] = (await refuse(100, 30)).paused;
  const connection = first!;
  for (let round = 0; round < 12; round++) {
    for (let other = 0; other < 20; other++) throttle.refused(new Connection() as unknown as Socket);
    throttle.refused(connection as unknown as Socket);
    await once(connection, 'resumed');
  }
  t.ok(connection.listenerCount('close') <= 2, 'by each of the two throttles');
});

t.test('connections that are refused right before the last tick are resumed', async (t) => {
  const throttle = new RetryThrottle(100);
  const connections = Array.from({ length: 30 }, () => new Connection());
  const refuseAll = () => {
    for (const connection of connections) throttle.refused(connection as unknown as Socket);
  };
  // Like the database's timeout: a timer that is due together with the tick, and before it.
  setTimeout(refuseAll, TICK_MS);
  throttle.refused(new Connection() as unknown as Socket);
  const last = connections.at(-1)!;
  await once(last, 'resumed');
  t.notOk(connections.some(({ isPaused }) => isPaused));
});
