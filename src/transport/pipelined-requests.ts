import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { responseInFlight } from './node-internals.js';

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
