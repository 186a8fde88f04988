import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Busy } from './parse-errors.js';

/** Requests of one connection that may wait for the answer of the one ahead of them. */
const MAX = 100;

interface Waiting<T> {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly more: T;
}

type Begin<T> = (req: IncomingMessage, res: ServerResponse, more: T) => void;

/**
 * Begins the next request of a connection when the answer before it went out (RFC 9112 section 9.3.2 allows more only
 * for safe methods), so that who sends many and reads nothing has one answer made. One more than may wait goes to
 * `refuse` in its turn, and whatever follows it is dropped.
 */
export function inRequestOrder<T>(begin: Begin<T>, refuse: Begin<T>): Begin<T> {
  const queues = new WeakMap<Socket, Waiting<T>[]>();
  const refused = new WeakSet<Socket>();

  function next(socket: Socket): void {
    const queue = queues.get(socket)!;
    const first = queue.shift();
    if (!first || socket.destroyed) return void queues.delete(socket);
    first.res.once('close', () => next(socket));
    // The one that made it too many stays the last.
    const last = queue.length === 0 && refused.has(socket);
    (last ? refuse : begin)(first.req, first.res, first.more);
  }

  return (req, res, more) => {
    // Node gives an answer its connection when the one before is done.
    if (res.socket !== null) return begin(req, res, more);
    const { socket } = req;
    if (refused.has(socket)) return void req.resume();
    const queue = queues.get(socket);
    if (queue) queue.push({ req, res, more });
    else {
      queues.set(socket, [{ req, res, more }]);
      (socket as Busy)._httpMessage!.once('close', () => next(socket));
    }
    if (queue && queue.length > MAX) refused.add(socket);
  };
}
