import type { Server } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { bytesInWriteQueue, preventTimers, responseInFlight } from './node-internals.js';

export interface ConnectionTimeouts {
  /** Milliseconds after which a client that reads nothing of its response is disconnected. */
  readonly streamStallMs: number;
  /** Milliseconds for which a connection may be idle between requests; 0: no limit. */
  readonly keepAliveMs: number;
}

/*
 * Idle connections and clients that do not read. Node itself closes connections whose headers arrive too slowly: see
 * `headersTimeout` in src/pipeline/server.ts.
 */

/**
 * The state of a connection in which no time may pass: negative, the bytes of responses that wait in this process; otherwise
 * the bytes received so far, between two requests. Undefined: the limits of header fields and bodies apply.
 */
export type Mark = number | undefined;

/** The mark that the last check saw, and since when it has not changed. */
export interface History {
  mark: Mark;
  since: number;
}

/** Sockets that were closed because the client read nothing of its response. */
const stalledSockets = new WeakSet<Socket>();

/** Whether `closeStaleConnections` closed a connection because its client read nothing of its response. */
export const hasStalled = (socket: Socket): boolean => stalledSockets.has(socket);

const MIN_INTERVAL_MS = 50;
const MAX_INTERVAL_MS = 5000;
/** A client counts the time from when it has the response, so the server waits a little longer. */
const MARGIN_MS = 1000;

/**
 * Closes each connection whose client reads nothing of its response, or that is idle, for too long. One interval checks
 * all of them. Returns the open ones.
 */
export function closeStaleConnections(
  server: Server | TlsServer,
  options: ConnectionTimeouts,
): ReadonlyMap<Socket, unknown> {
  const { streamStallMs, keepAliveMs } = options;
  const connections = new Map<Socket, History>();
  const checkAll = (): void => {
    const now = performance.now();
    for (const [socket, history] of connections) {
      if (!isStale(markOf(socket), history, now, options)) continue;
      if (history.mark! < 0) stalledSockets.add(socket);
      socket.destroy();
    }
  };
  server.on('setSecureContext' in server ? 'secureConnection' : 'connection', (socket: Socket) => {
    connections.set(socket, { mark: undefined, since: 0 });
    socket.once('close', () => connections.delete(socket));
    preventTimers(socket);
  });
  const shortest = Math.min(streamStallMs, keepAliveMs || streamStallMs);
  const intervalMs = Math.min(MAX_INTERVAL_MS, Math.max(MIN_INTERVAL_MS, shortest / 4));
  // setImmediate: bytes that have arrived are read before the check.
  const timer = setInterval(() => setImmediate(checkAll), intervalMs).unref();
  server.once('close', () => clearInterval(timer));
  return connections;
}

function markOf(socket: Socket): Mark {
  if (socket.writableLength > 0) return -socket.writableLength - bytesInWriteQueue(socket);
  return responseInFlight(socket) === null ? socket.bytesRead : undefined;
}

/** Whether a connection is to be closed, with its mark now and at the last check. Updates `history`. */
export function isStale(
  mark: Mark,
  history: History,
  now: number,
  { streamStallMs, keepAliveMs }: ConnectionTimeouts,
): boolean {
  if (mark === undefined || mark !== history.mark) {
    Object.assign(history, { mark, since: now });
    return false;
  }
  const idleMs = keepAliveMs === 0 ? Number.POSITIVE_INFINITY : keepAliveMs + MARGIN_MS;
  return now - history.since >= (mark < 0 ? streamStallMs : idleMs);
}
