import type { Socket } from 'node:net';

/** How long a client may go on sending after it was told that the connection closes. */
const LINGER_MS = 2000;

const lingering = new WeakSet<Socket>();

/** Whether the last answer of a connection is decided: RFC 9112 section 9.6 lets no later request run. */
export function isLingering(socket: Socket): boolean {
  return lingering.has(socket);
}

/**
 * Makes a connection close in two steps, as RFC 9112 section 9.6 asks: first our half, then, when the client
 * has had time to read the answer, the rest. Closing at once while it still sends would reset the connection
 * and could take the answer with it.
 */
export function lingerOnClose(socket: Socket): void {
  if (lingering.has(socket)) return;
  lingering.add(socket);
  const closeNow = socket.destroySoon.bind(socket);
  socket.destroySoon = () => {
    // A client that has said that it sends no more is not waited for.
    if (socket.readableEnded) return closeNow();
    socket.end();
    socket.resume();
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('end', closeNow);
    socket.once('close', () => clearTimeout(timer));
  };
}
