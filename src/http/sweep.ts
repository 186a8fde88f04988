import type { Server } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Busy } from './malformed.js';

export interface SweepOptions {
  /** How long a reader may take nothing of its answer, in milliseconds. */
  readonly streamStallMs: number;
  /** How long a connection may be idle between requests, in milliseconds; 0: for ever. */
  readonly keepAliveMs: number;
}

/** What of an answer has not been taken at the last look, what has come by then, and since when they are the same. */
interface Seen {
  rest: number;
  restSince: number;
  read: number;
  readSince: number;
}

const MOST_BETWEEN_MS = 5000;

/**
 * Ends each connection whose reader takes nothing of its answer for too long, or that is idle for too long. All are
 * looked at now and then: a timer for each connection, as Node's own `timeout` sets with each request, took a tenth of
 * the rate of reads, and the one for `keepAliveTimeout` takes 1.04 x of what costs least.
 */
export function sweepConnections(server: Server | TlsServer, options: SweepOptions): void {
  const { streamStallMs, keepAliveMs } = options;
  const connections = new Map<Socket, Seen>();
  const look = (): void => {
    const now = performance.now();
    for (const [socket, seen] of connections)
      if (isStalled(socket, seen, now, streamStallMs) || isIdle(socket, seen, now, keepAliveMs))
        socket.destroy();
  };
  server.on('setSecureContext' in server ? 'secureConnection' : 'connection', (socket: Socket) => {
    connections.set(socket, { rest: 0, restSince: 0, read: 0, readSince: 0 });
    socket.once('close', () => connections.delete(socket));
    // Node's, of each answer and each request.
    socket.setTimeout = () => socket;
  });
  const shortest = Math.min(streamStallMs, keepAliveMs || streamStallMs);
  const looking = setInterval(look, Math.min(MOST_BETWEEN_MS, shortest / 4)).unref();
  server.once('close', () => clearInterval(looking));
}

function isStalled(socket: Socket, seen: Seen, now: number, stallMs: number): boolean {
  const rest = restOf(socket);
  if (rest > 0 && rest === seen.rest) return now - seen.restSince >= stallMs;
  Object.assign(seen, { rest, restSince: now });
  return false;
}

/** Bytes that wait in the process. Node counts a write that is under way whole; what it has left is the handle's. */
function restOf(socket: Socket & { readonly _handle?: { readonly writeQueueSize: number } | null }): number {
  return socket.writableLength === 0 ? 0 : socket.writableLength + (socket._handle?.writeQueueSize ?? 0);
}

/** One that has not sent a byte has the time for header fields instead. */
function isIdle(socket: Busy, seen: Seen, now: number, keepAliveMs: number): boolean {
  const read = socket.bytesRead;
  if (!socket._httpMessage && read > 0 && read === seen.read)
    return keepAliveMs > 0 && now - seen.readSince >= keepAliveMs;
  Object.assign(seen, { read, readSince: now });
  return false;
}
