import { STATUS_CODES } from 'node:http';
import type { Server } from 'node:https';
import type { Socket } from 'node:net';
import { plainHttp } from '../errors/request-errors.js';
import { render } from '../http/problem-body.js';

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
    // Written at once: Node closes the connection after this event.
    if (error.code === 'ERR_SSL_HTTP_REQUEST') open.get(nameOf(socket))?.write(plainHttpResponse());
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

/** The response to a request without TLS (RFC 9110 section 15.5.1). */
function plainHttpResponse(): string {
  const { status, headers, body } = render(plainHttp(), '');
  const fields = [...headers, 'Content-Length', String(Buffer.byteLength(body)), 'Connection', 'close'];
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
  for (let at = 0; at < fields.length; at += 2) head += `${fields[at]}: ${fields[at + 1]}\r\n`;
  return `${head}\r\n${body}`;
}

/** Both ends of a connection: the same for the raw socket and for the encrypted one on it. */
function nameOf({ localAddress, localPort, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${localPort} ${remoteAddress} ${remotePort}`;
}
