import type { Socket } from 'node:net';

/** How long a client may go on sending after it was told that the connection closes. */
const LINGER_MS = 2000;

/**
 * Makes a connection close in two steps, as RFC 9112 section 9.6 asks: first our half, then, when the client
 * has had time to read the answer, the rest. Closing at once while it still sends would reset the connection
 * and could take the answer with it.
 */
export function lingerOnClose(socket: Socket): void {
  socket.destroySoon = () => {
    socket.end();
    socket.resume();
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('end', () => socket.destroy());
    socket.once('close', () => clearTimeout(timer));
  };
}
