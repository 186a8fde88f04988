import type { Socket } from 'node:net';

/** Refusals within a tick of so many milliseconds that are given at once: 4000 a second are some 5 % of a core. */
const PER_TICK = 20;
const TICK_MS = 5;

/** Connections that were refused more than the service can refuse without doing less of its work. */
export interface Pace {
  /** Notes a refusal. When there are too many, the connection is not read until its turn comes. */
  hold(socket: Socket): void;
  /** Whether what a connection has sent may have waited for its turn, and so is no longer new. */
  isLate(socket: Socket): boolean;
}

/**
 * A refusal costs a third of the cheapest answer: at ten times what the service can do, saying so to everybody would
 * leave it nothing to do its work with. So whoever asks again at once after a 503 is read again in its turn, and what
 * it sent meanwhile waits where it costs nothing, with its sender. Who keeps to Retry-After never notices.
 */
export function createPace(): Pace {
  let held: Socket[] = [];
  let refused: Socket[] = [];
  let count = 0;
  let ticking = false;
  const late = new Set<Socket>();

  /** At the end of the turn: Node reads on by itself when a request is over. */
  function stopReading(): void {
    for (const socket of refused) socket.pause();
    held = held.concat(refused);
    refused = [];
  }

  function tick(): void {
    count = 0;
    ticking = held.length > 0;
    if (!ticking) return;
    for (const socket of held.slice(0, PER_TICK)) {
      late.add(socket);
      socket.resume();
    }
    held = held.slice(PER_TICK);
    // What had been sent is read before that.
    setImmediate(() => late.clear());
    setTimeout(tick, TICK_MS);
  }

  return {
    hold: (socket) => {
      if (!ticking) {
        ticking = true;
        setTimeout(tick, TICK_MS);
      }
      if (++count > PER_TICK && refused.push(socket) === 1) setImmediate(stopReading);
    },
    isLate: (socket) => late.has(socket),
  };
}
