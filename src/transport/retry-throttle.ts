import type { Socket } from 'node:net';

/** Refusals that are given at once, and connections that are read again; so many a second are a fortieth of a core. */
const PER_SECOND = 500;
export const TICK_MS = 10;
/** Also when a turn of the event loop took longer than a tick, it does not go on with refusals alone. */
const MAX_PER_TICK = 25;

/** Connections that were refused more than the service can refuse without doing less of its work. */
export interface RetryThrottle {
  /** Notes a refusal. When there are too many, the connection is not read until its turn comes. */
  hold(socket: Socket): void;
  /** Whether what a connection has sent may have waited for its turn, and so is no longer new. */
  isLate(socket: Socket): boolean;
}

/**
 * A refusal costs more than half of the cheapest read: at ten times what the service can do, saying so to everybody would
 * leave it nothing to do its work with. So whoever asks again at once after a 503 is read again in its turn, and what
 * it sent meanwhile waits where it costs nothing, with its sender. Who keeps to Retry-After hardly notices.
 * At most `maxHeld` wait: one that is not read is not seen to have left, and takes the place of a connection.
 */
export function createRetryThrottle(maxHeld: number): RetryThrottle {
  const held = new Set<Socket>();
  const followed = new WeakSet<Socket>();
  let refused: Socket[] = [];
  let left = 0;
  let ticking = false;
  let tickedAt = 0;
  const late = new Set<Socket>();

  function start(): void {
    ticking = true;
    left = (PER_SECOND * TICK_MS) / 1000;
    tickedAt = performance.now();
    setTimeout(tick, TICK_MS);
  }

  /** At the end of the turn: Node reads on by itself when a request is over. */
  function stopReading(): void {
    for (const socket of refused) keep(socket);
    refused = [];
  }

  function keep(socket: Socket): void {
    if (socket.destroyed || held.size >= maxHeld) return;
    socket.pause();
    held.add(socket);
    if (followed.has(socket)) return;
    followed.add(socket);
    socket.once('close', () => held.delete(socket));
  }

  function tick(): void {
    // Some may be on their way here: a refusal from a timer that was due before this one.
    ticking = held.size + refused.length > 0;
    if (!ticking) return;
    let turns = Math.ceil(Math.min(((performance.now() - tickedAt) * PER_SECOND) / 1000, MAX_PER_TICK));
    for (const socket of held) {
      if (turns-- === 0) break;
      held.delete(socket);
      late.add(socket);
      socket.resume();
    }
    // What had been sent is read before that.
    setImmediate(() => late.clear());
    start();
  }

  return {
    hold: (socket) => {
      if (!ticking) start();
      if (--left < 0 && refused.push(socket) === 1) setImmediate(stopReading);
    },
    isLate: (socket) => late.has(socket),
  };
}
