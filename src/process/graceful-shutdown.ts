import { once } from 'node:events';
import type { Server } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import { Server as NetServer } from 'node:net';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';

export interface ShutdownOptions {
  /** How long new connections are still accepted, so that a load balancer sees /readyz first; milliseconds. */
  readonly shutdownDelayMs: number;
  /** How long a connection without a request may still send one. */
  readonly shutdownIdleMs: number;
  /** How long requests in flight may take, from when no more connections are accepted. */
  readonly shutdownMs: number;
}

const SWEEP_MS = 100;

/**
 * Ends a server whose answers already say `Connection: close`, so that no client loses a request: what waits to be
 * accepted is accepted, then no more; a connection is closed with its next answer; and one that sends nothing is
 * closed only after a while, since its next request may be on the way. Resolves when every connection is closed.
 */
export async function shutDown(server: Server | TlsServer, options: ShutdownOptions): Promise<void> {
  if (options.shutdownDelayMs > 0) await sleep(options.shutdownDelayMs);
  await acceptAll(server);
  const closed = once(server, 'close');
  // That of HTTP would close idle connections at once.
  NetServer.prototype.close.call(server);
  const impatient = setTimeout(() => server.closeAllConnections(), options.shutdownMs);
  let sweep: NodeJS.Timeout | undefined;
  // What has come meanwhile is read first: timers of a process that had to wait may be ahead of it.
  const closeIdle = () => setImmediate(() => server.closeIdleConnections());
  const patient = setTimeout(() => {
    closeIdle();
    sweep = setInterval(closeIdle, SWEEP_MS);
  }, options.shutdownIdleMs);
  await closed;
  for (const timer of [impatient, patient, sweep]) clearTimeout(timer);
}

/** A turn of the event loop that is this short leaves hardly time for another to come; milliseconds. */
const SHORT_MS = 0.5;
/** When a longer one has to do, and when it is enough of waiting. */
const LONG_MS = 500;
const MAX_MS = 5000;

/**
 * Resolves in a turn of the event loop that found no connection in the kernel's queue: those left in it when a
 * listener is closed are reset, and Node takes one a turn.
 */
async function acceptAll(server: Server | TlsServer): Promise<void> {
  // From here to the next turn the event loop looks for connections once.
  await turn();
  const began = performance.now();
  let accepted = true;
  const note = (): void => {
    accepted = true;
  };
  server.on('connection', note);
  for (let now = began, tookMs = MAX_MS; now - began < MAX_MS; ) {
    if (!accepted && (tookMs < SHORT_MS || now - began > LONG_MS)) break;
    accepted = false;
    await turn();
    tookMs = performance.now() - now;
    now += tookMs;
  }
  server.off('connection', note);
}
