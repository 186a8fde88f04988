import type { Socket } from 'node:net';

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
