import type { Server } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Busy } from './parse-errors.js';

export interface ConnectionTimeouts {
  /** How long a reader may take nothing of its answer, in milliseconds. */
  readonly streamStallMs: number;
  /** How long a connection may be idle between requests, in milliseconds; 0: for ever. */
  readonly keepAliveMs: number;
}

/** What of an answer has not been taken at the last look, what has come by then, and since when they are the same. */
export interface Seen {
  rest: number;
  restSince: number;
  /** Undefined: there was a request, or none yet. */
  read: number | undefined;
  readSince: number;
}

export const unseen = (): Seen => ({ rest: 0, restSince: 0, read: undefined, readSince: 0 });

/** What is looked at of a connection. */
export interface Looked extends Pick<Busy, '_httpMessage' | 'bytesRead' | 'writableLength'> {
  readonly _handle?: { readonly writeQueueSize: number } | null;
}

const MIN_BETWEEN_MS = 50;
const MAX_BETWEEN_MS = 5000;
/** A client counts from when it has the answer, and what it sends takes its time: what Node adds, too. */
const MARGIN_MS = 1000;

/**
 * Ends each connection whose reader takes nothing of its answer for too long, or that is idle for too long. All are
 * looked at now and then: the timers that Node sets with each request took a tenth of the rate of reads for its `timeout`,
 * and a twenty-fifth of that of a 404 for its `keepAliveTimeout`.
 */
export function closeStaleConnections(server: Server | TlsServer, options: ConnectionTimeouts): void {
  const { streamStallMs, keepAliveMs } = options;
  const connections = new Map<Socket, Seen>();
  const look = (): void => {
    const now = performance.now();
    for (const [socket, seen] of connections) if (isOver(socket, seen, now, options)) socket.destroy();
  };
  server.on('setSecureContext' in server ? 'secureConnection' : 'connection', (socket: Socket) => {
    connections.set(socket, unseen());
    socket.once('close', () => connections.delete(socket));
    // Node's, with each answer and each request. So timeouts of requests and answers have no effect; there are none.
    socket.setTimeout = () => socket;
  });
  const shortest = Math.min(streamStallMs, keepAliveMs || streamStallMs);
  const everyMs = Math.min(MAX_BETWEEN_MS, Math.max(MIN_BETWEEN_MS, shortest / 4));
  // What has come is read before that.
  const looking = setInterval(() => setImmediate(look), everyMs).unref();
  server.once('close', () => clearInterval(looking));
}

/** Whether a connection is to be ended, by what was seen of it at this look and at those before. */
export function isOver(socket: Looked, seen: Seen, now: number, options: ConnectionTimeouts): boolean {
  return (
    isStalled(socket, seen, now, options.streamStallMs) || isIdle(socket, seen, now, options.keepAliveMs)
  );
}

function isStalled(socket: Looked, seen: Seen, now: number, stallMs: number): boolean {
  const rest = restOf(socket);
  if (rest > 0 && rest === seen.rest) return now - seen.restSince >= stallMs;
  Object.assign(seen, { rest, restSince: now });
  return false;
}

/** Bytes that wait in the process. Node counts a write that is under way whole; what it has left is the handle's. */
function restOf(socket: Looked): number {
  return socket.writableLength === 0 ? 0 : socket.writableLength + (socket._handle?.writeQueueSize ?? 0);
}

/**
 * Since the first look after an answer. Before the first answer, and within a request, other bounds hold: those of
 * header fields and bodies.
 */
function isIdle(socket: Looked, seen: Seen, now: number, keepAliveMs: number): boolean {
  const read = socket._httpMessage === null ? socket.bytesRead : undefined;
  if (read !== undefined && read === seen.read)
    return keepAliveMs > 0 && now - seen.readSince >= keepAliveMs + MARGIN_MS;
  Object.assign(seen, { read, readSince: now });
  return false;
}
