import { once } from 'node:events';
import type { Server } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import { Server as NetServer } from 'node:net';
import { setImmediate as nextTick, setTimeout as sleep } from 'node:timers/promises';

export interface ShutdownOptions {
  /** How long new connections are still accepted, so that a load balancer sees /readyz first; milliseconds. */
  readonly shutdownDelayMs: number;
  /** How long requests in flight may take after the last connection was accepted. */
  readonly shutdownMs: number;
}

/** How long an idle connection may still send a request; milliseconds. */
const IDLE_MS = 1000;
const SWEEP_MS = 100;

/**
 * Ends a server whose responses already have `Connection: close`, without losing a request. It accepts the connections in
 * the kernel's queue and then no more. A connection closes with its next response; an idle one closes only after a while,
 * since its next request may be on the way. Resolves when every connection is closed.
 */
export async function shutDown(server: Server | TlsServer, options: ShutdownOptions): Promise<void> {
  if (options.shutdownDelayMs > 0) await sleep(options.shutdownDelayMs);
  await acceptAll(server);
  const closed = once(server, 'close');
  // http.Server's own `close` would close idle connections at once.
  NetServer.prototype.close.call(server);
  const deadline = setTimeout(() => server.closeAllConnections(), options.shutdownMs);
  let sweep: NodeJS.Timeout | undefined;
  // After I/O: in a busy process, due timers would run before requests that have arrived.
  const closeIdle = () => setImmediate(() => server.closeIdleConnections());
  const idleTimer = setTimeout(() => {
    closeIdle();
    sweep = setInterval(closeIdle, SWEEP_MS);
  }, IDLE_MS);
  await closed;
  for (const timer of [deadline, idleTimer, sweep]) clearTimeout(timer);
}

/** In a tick this short, hardly any new connection arrives; milliseconds. */
const SHORT_TICK_MS = 0.5;
/** After this time, a longer tick without a connection is enough. */
const LONG_MS = 500;
const MAX_MS = 5000;

/**
 * Resolves in a tick that found no connection in the kernel's queue. Closing the listener would reset the connections in
 * it, and Node accepts one in each tick.
 */
async function acceptAll(server: Server | TlsServer): Promise<void> {
  // Until the next tick, the event loop polls for connections once.
  await nextTick();
  const began = performance.now();
  let accepted = true;
  const onConnection = (): void => {
    accepted = true;
  };
  server.on('connection', onConnection);
  for (let now = began, tookMs = MAX_MS; now - began < MAX_MS; ) {
    if (!accepted && (tookMs < SHORT_TICK_MS || now - began > LONG_MS)) break;
    accepted = false;
    await nextTick();
    tookMs = performance.now() - now;
    now += tookMs;
  }
  server.off('connection', onConnection);
}
