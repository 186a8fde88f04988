import type { EventEmitter } from 'node:events';

/** Requests that wait for each connection that is accepted before them, and the most connections that they wait for. */
const REQUESTS = 4;
const MAX = 64;
/** How long requests wait for connections at the most: where ticks are long for another reason, waiting gains nothing. */
const MAX_HOLD_MS = 20;

/**
 * Holds requests back while further connections wait to be accepted. Node's libuv accepts one connection in a turn of
 * the event loop (since 1.45), and a turn lasts for as long as all the requests in it: of a thousand clients that
 * connect at once to a busy service, half would wait for seconds. A turn whose requests are only read is short, so what
 * is read goes on to `begin` when no further connection came, or when enough did: a flood of them gets no more than a
 * part of the time.
 */
export function acceptBeforeReading<A extends readonly unknown[]>(
  server: EventEmitter,
  begin: (...request: A) => void,
  now: () => number = () => performance.now(),
): (...request: A) => void {
  let held: A[] = [];
  let accepting = false;
  let came = false;
  let accepted = 0;
  let since = 0;

  server.on('connection', () => {
    came = true;
    accepted++;
    if (accepting) return;
    accepting = true;
    since = now();
    setImmediate(endOfTurn);
  });

  function endOfTurn(): void {
    if (came && accepted < Math.min(held.length / REQUESTS, MAX) && now() - since < MAX_HOLD_MS) {
      came = false;
      return void setImmediate(endOfTurn);
    }
    accepting = false;
    accepted = 0;
    const requests = held;
    held = [];
    for (const request of requests) begin(...request);
  }

  return (...request) => {
    if (accepting) held.push(request);
    else begin(...request);
  };
}
