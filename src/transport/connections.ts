import type { EventEmitter } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { responseInFlight } from './node-internals.js';

/** Connections beyond a limit that receive a 503; any further ones are closed at once, which costs less. */
const MAX_REFUSED = 64;

/** Connections to the listener of METRICS_PORT. */
export const MAX_METRICS_CONNECTIONS = 64;

/** Limits the connections of a server. Returns whether a connection exceeds the limit, so that its first request is refused. */
export function limitConnections(
  server: Server | TlsServer,
  maxConnections: number,
): (socket: Socket) => boolean {
  const surplus = new WeakSet<Socket>();
  let open = 0;

  // Node's own maxConnections is not used: in a cluster, a refused connection returns to the primary, which would hand it
  // from worker to worker without end. For TLS this is the raw connection, which is counted before Node sees it.
  server.prependListener('connection', (socket: Socket) => {
    open++;
    socket.once('close', () => void open--);
    if (open > maxConnections + MAX_REFUSED) socket.destroy();
    else if (open > maxConnections) surplus.add(socket);
  });
  server.on('secureConnection', (socket: Socket) => {
    if (open > maxConnections) surplus.add(socket);
  });
  return (socket) => surplus.has(socket);
}

/** Requests of one connection that may wait for the response to the one ahead of them. */
const MAX_WAITING = 100;

interface Waiting<T> {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly more: T;
}

type Begin<T> = (req: IncomingMessage, res: ServerResponse, more: T) => void;

/**
 * Begins the next request of a connection when the response before it has been sent (RFC 9112 section 9.3.2), so that a
 * client that sends many requests and reads nothing causes the work of one. The request that exceeds the limit is
 * passed to `refuse` in its turn; later ones are discarded.
 */
export function inRequestOrder<T>(begin: Begin<T>, refuse: Begin<T>): Begin<T> {
  const queues = new WeakMap<Socket, Waiting<T>[]>();
  const refused = new WeakSet<Socket>();

  function next(socket: Socket): void {
    const queue = queues.get(socket)!;
    const first = queue.shift();
    if (!first || socket.destroyed) return void queues.delete(socket);
    first.res.once('close', () => next(socket));
    const isSurplus = queue.length === 0 && refused.has(socket);
    (isSurplus ? refuse : begin)(first.req, first.res, first.more);
  }

  return (req, res, more) => {
    // Node assigns the socket to a response once the response before it is done.
    if (res.socket !== null) return begin(req, res, more);
    const { socket } = req;
    if (refused.has(socket)) return void req.resume();
    const queue = queues.get(socket);
    if (queue) queue.push({ req, res, more });
    else {
      queues.set(socket, [{ req, res, more }]);
      responseInFlight(socket)!.once('close', () => next(socket));
    }
    if (queue && queue.length > MAX_WAITING) refused.add(socket);
  };
}

/** Fewer requests do not wait. */
const MIN_DELAYED = 8;
/** Maximum time that requests wait, so that a flood of connections gets only a part of the time. */
const MAX_WAIT_MS = 5;

/**
 * Delays requests while further connections wait to be accepted. Since version 1.45, libuv accepts one connection per tick, and
 * a tick lasts as long as all the requests in it: if a thousand clients connected at once to a busy service, half of
 * them would wait for seconds. Requests therefore go to `begin` when no further connection arrived in a tick.
 */
export function acceptBeforeReading<A extends readonly unknown[]>(
  server: EventEmitter,
  begin: (...request: A) => void,
  now: () => number = () => performance.now(),
): (...request: A) => void {
  let waiting: A[] | undefined;
  let hasNewConnection = false;
  let since = 0;

  server.on('connection', () => {
    hasNewConnection = true;
    if (waiting) return;
    waiting = [];
    since = now();
    setImmediate(endOfTick);
  });

  function endOfTick(): void {
    const waits = hasNewConnection && waiting!.length >= MIN_DELAYED && now() - since < MAX_WAIT_MS;
    hasNewConnection = false;
    if (waits) return void setImmediate(endOfTick);
    const requests = waiting!;
    waiting = undefined;
    for (const request of requests) begin(...request);
  }

  return (...request) => {
    if (waiting) waiting.push(request);
    else begin(...request);
  };
}

/** Time for which a client may continue to send after the service has closed its half of the connection. */
const LINGER_MS = 2000;

const lingering = new WeakSet<Socket>();

/** Whether the last response of a connection is decided: no later request may run (RFC 9112 section 9.6). */
export function isLingering(socket: Socket): boolean {
  return lingering.has(socket);
}

/**
 * Makes a connection close in two steps (RFC 9112 section 9.6): first the service's half; the rest once the client has
 * had time to read the response. Closing both at once while the client still sends would reset the connection and could
 * lose the response.
 */
export function lingerOnClose(socket: Socket): void {
  if (lingering.has(socket)) return;
  lingering.add(socket);
  const closeNow = socket.destroySoon.bind(socket);
  socket.destroySoon = () => {
    if (socket.readableEnded) return closeNow();
    socket.end();
    socket.resume();
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('end', closeNow);
    socket.once('close', () => clearTimeout(timer));
  };
}
