import type { Server } from 'node:https';
import type { Socket } from 'node:net';

/** Connections that are not yet encrypted, which Node's HTTP does not know of. */
export interface Handshakes {
  /** Ends those that have not sent a byte. */
  readonly closeIdle: () => void;
  readonly closeAll: () => void;
}

/** Follows connections until their handshake is done, and ends those where it fails. */
export function followHandshakes(server: Server): Handshakes {
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
    // As node:http has it. Set for the whole server, an end in the midst of a handshake would go unnoticed.
    socket.allowHalfOpen = true;
  });
  // Node would hand them to clientError, which answers: but to whom nothing can be said.
  server.removeAllListeners('tlsClientError');
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  return {
    closeIdle: () => {
      for (const socket of open.values()) if (socket.bytesRead === 0) socket.destroy();
    },
    closeAll: () => {
      for (const socket of open.values()) socket.destroy();
    },
  };
}

/** The same for a connection and for what is encrypted on it: its two ends. */
function nameOf({ localAddress, localPort, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${localPort} ${remoteAddress} ${remotePort}`;
}
