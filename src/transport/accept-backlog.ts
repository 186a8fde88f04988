import type { EventEmitter } from 'node:events';

/** Requests that wait for each further connection, and the maximum of connections that they wait for. */
const REQUESTS_PER_CONNECTION = 4;
const MAX_CONNECTIONS = 64;
/** Maximum time that requests wait: if ticks are long for another reason, waiting gains nothing. */
const MAX_WAIT_MS = 20;

/**
 * Delays requests while further connections wait to be accepted. Since version 1.45, libuv accepts one connection per tick, and
 * a tick lasts as long as all the requests in it: if a thousand clients connected at once to a busy service, half of
 * them would wait for seconds. Requests therefore go to `begin` when no further connection arrived in a tick, or when
 * enough did, so that a flood of connections gets only a part of the time.
 */
export function acceptBeforeReading<A extends readonly unknown[]>(
  server: EventEmitter,
  begin: (...request: A) => void,
  now: () => number = () => performance.now(),
): (...request: A) => void {
  let waiting: A[] = [];
  let isAccepting = false;
  let hasNewConnection = false;
  let accepted = 0;
  let since = 0;

  server.on('connection', () => {
    hasNewConnection = true;
    accepted++;
    if (isAccepting) return;
    isAccepting = true;
    since = now();
    setImmediate(endOfTick);
  });

  function endOfTick(): void {
    const limit = Math.min(waiting.length / REQUESTS_PER_CONNECTION, MAX_CONNECTIONS);
    if (hasNewConnection && accepted < limit && now() - since < MAX_WAIT_MS) {
      hasNewConnection = false;
      return void setImmediate(endOfTick);
    }
    isAccepting = false;
    accepted = 0;
    const requests = waiting;
    waiting = [];
    for (const request of requests) begin(...request);
  }

  return (...request) => {
    if (isAccepting) waiting.push(request);
    else begin(...request);
  };
}
