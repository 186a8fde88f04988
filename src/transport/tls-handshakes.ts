import type { Server } from 'node:https';
import type { Socket } from 'node:net';
import { plainHttp } from '../errors/request-errors.js';
import { lastResponse } from './parse-errors.js';

/**
 * Tracks the connections of a server, also those whose TLS handshake is not done, which Node's HTTP server does not track, and closes
 * those whose handshake fails. Returns the open ones.
 */
export function trackHandshakes(server: Server): ReadonlySet<Socket> {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  server.on('secureConnection', (socket) => {
    // As in node:http. Set for the whole server, the end of a connection during its handshake would go unnoticed.
    socket.allowHalfOpen = true;
  });
  // Node passes them to clientError, which would write a response through TLS.
  server.removeAllListeners('tlsClientError');
  server.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
    const { remoteAddress, remotePort } = socket;
    // A request without TLS (RFC 9110 section 15.5.1), whose response is written at once: Node closes the connection after this event.
    const isRaw = (raw: Socket) => raw.remotePort === remotePort && raw.remoteAddress === remoteAddress;
    if (error.code === 'ERR_SSL_HTTP_REQUEST') [...open].find(isRaw)?.write(lastResponse(plainHttp(), []));
    socket.destroy();
  });
  return open;
}
