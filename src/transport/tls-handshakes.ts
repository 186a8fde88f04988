import type { Server } from 'node:https';
import type { Socket } from 'node:net';
import { plainHttp } from '../errors/request-errors.js';
import { lastResponse } from './parse-errors.js';

/** Connections whose TLS handshake is not done. Node's HTTP server does not track them. */
export interface Handshakes {
  /** Closes those that have not sent a byte. */
  readonly closeIdle: () => void;
  readonly closeAll: () => void;
}

/** Tracks connections until their handshake is done, and closes those whose handshake fails. */
export function trackHandshakes(server: Server): Handshakes {
  const open = new Map<string, Socket>();
  server.on('connection', (socket: Socket) => {
    const name = nameOf(socket);
    open.set(name, socket);
    socket.once('close', () => {
      if (open.get(name) === socket) open.delete(name);
    });
  });
  server.on('secureConnection', (socket) => {
    open.delete(nameOf(socket));
    // As in node:http. Set for the whole server, the end of a connection during its handshake would go unnoticed.
    socket.allowHalfOpen = true;
  });
  // Node passes them to clientError, which would write a response through TLS.
  server.removeAllListeners('tlsClientError');
  server.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
    // A request without TLS (RFC 9110 section 15.5.1), whose response is written at once: Node closes the connection after this event.
    if (error.code === 'ERR_SSL_HTTP_REQUEST') open.get(nameOf(socket))?.write(lastResponse(plainHttp(), []));
    socket.destroy();
  });
  return {
    closeIdle: () => {
      for (const socket of open.values()) if (socket.bytesRead === 0) socket.destroy();
    },
    closeAll: () => {
      for (const socket of open.values()) socket.destroy();
    },
  };
}

/** Both ends of a connection: the same for the raw socket and for the encrypted one on it. */
function nameOf({ localAddress, localPort, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${localPort} ${remoteAddress} ${remotePort}`;
}
