import { EventEmitter, once } from 'node:events';
import type { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { createRetryThrottle, TICK_MS } from '../../src/transport/retry-throttle.js';

/** As much of a connection as is held back. */
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

/** So many connections that were refused in one turn; the first few of a while are read on. */
async function refuse(maxHeld: number, count: number, closedBefore = 0) {
  const pace = createRetryThrottle(maxHeld);
  const connections = Array.from({ length: count }, () => new Connection());
  for (const connection of connections) pace.hold(connection as unknown as Socket);
  for (const connection of connections.slice(count - closedBefore)) connection.close();
  await turn();
  return { pace, connections, paused: connections.filter(({ isPaused }) => isPaused) };
}

t.test('those over the rate are not read until their turn, and are late then', async (t) => {
  const { pace, connections, paused } = await refuse(100, 30);
  t.ok(paused.length > 0 && paused.length < connections.length);
  const last = paused.at(-1)!;
  await once(last, 'resumed');
  t.ok(pace.isLate(last as unknown as Socket));
  t.notOk(
    connections.some(({ isPaused }) => isPaused),
    'in their order',
  );
  await turn();
  await turn();
  t.notOk(pace.isLate(last as unknown as Socket));
});

t.test('no more than so many, and none that has closed', async (t) => {
  t.equal((await refuse(4, 30)).paused.length, 4);
  t.equal((await refuse(100, 30, 30)).paused.length, 0, 'closed before the end of the turn');
  const { paused } = await refuse(100, 30);
  const [closed, open] = [paused.slice(0, -1), paused.at(-1)!];
  for (const connection of closed) connection.close();
  await once(open, 'resumed');
  t.ok(
    closed.every(({ isPaused }) => isPaused),
    'nor is one read that closed meanwhile',
  );
});

t.test('one that is held again and again is followed once', async (t) => {
  const pace = createRetryThrottle(100);
  const [first] = (await refuse(100, 30)).paused;
  const connection = first!;
  for (let round = 0; round < 12; round++) {
    for (let other = 0; other < 20; other++) pace.hold(new Connection() as unknown as Socket);
    pace.hold(connection as unknown as Socket);
    await once(connection, 'resumed');
  }
  t.ok(connection.listenerCount('close') <= 2, 'by each of the two that held it');
});

t.test('those refused right before the last tick, in its turn, are read again', async (t) => {
  const pace = createRetryThrottle(100);
  const connections = Array.from({ length: 30 }, () => new Connection());
  const refuseAll = () => {
    for (const connection of connections) pace.hold(connection as unknown as Socket);
  };
  // As the database's time limit does: from a timer that is due together with the tick, and before it.
  setTimeout(refuseAll, TICK_MS);
  pace.hold(new Connection() as unknown as Socket);
  const last = connections.at(-1)!;
  await once(last, 'resumed');
  t.notOk(connections.some(({ isPaused }) => isPaused));
});
