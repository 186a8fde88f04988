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

/** The state of a connection in one check. */
export interface ConnectionState {
  /** Bytes of responses that wait in this process. */
  readonly unsent: number;
  /** Bytes received so far, if the connection is between two requests. */
  readonly idleAt: number | undefined;
}

/** The state that earlier checks saw, and since when it has not changed. */
export interface History {
  unsent: number;
  unsentSince: number;
  idleAt: number | undefined;
  idleSince: number;
}

export const noHistory = (): History => ({ unsent: 0, unsentSince: 0, idleAt: undefined, idleSince: 0 });

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
      const state = stateOf(socket);
      if (!isStale(state, history, now, options)) continue;
      if (state.unsent > 0) stalledSockets.add(socket);
      socket.destroy();
    }
  };
  server.on('setSecureContext' in server ? 'secureConnection' : 'connection', (socket: Socket) => {
    connections.set(socket, noHistory());
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

function stateOf(socket: Socket): ConnectionState {
  return {
    unsent: socket.writableLength === 0 ? 0 : socket.writableLength + bytesInWriteQueue(socket),
    // Before the first response and within a request, the limits of header fields and bodies apply instead.
    idleAt: responseInFlight(socket) === null ? socket.bytesRead : undefined,
  };
}

/** Whether a connection is to be closed, given its state now and at earlier checks. Updates `history`. */
export function isStale(
  state: ConnectionState,
  history: History,
  now: number,
  { streamStallMs, keepAliveMs }: ConnectionTimeouts,
): boolean {
  if (state.unsent === 0 || state.unsent !== history.unsent) {
    history.unsent = state.unsent;
    history.unsentSince = now;
  }
  if (state.idleAt === undefined || state.idleAt !== history.idleAt) {
    history.idleAt = state.idleAt;
    history.idleSince = now;
  }
  const isStalled = state.unsent > 0 && now - history.unsentSince >= streamStallMs;
  const isIdle = state.idleAt !== undefined && now - history.idleSince >= keepAliveMs + MARGIN_MS;
  return isStalled || (keepAliveMs > 0 && isIdle);
}
