import type { Server } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';

/** What of an answer has not been taken at the last look, and since when it is so much. */
interface Rest {
  bytes: number;
  since: number;
}

const MOST_BETWEEN_MS = 5000;

/**
 * Ends each connection whose reader takes nothing of its answer for `stallMs`. All are looked at now and then: a timer
 * for each connection, as Node's own `timeout` sets with each request, took a tenth of the rate of reads.
 */
export function endStalled(server: Server | TlsServer, stallMs: number): void {
  const rests = new Map<Socket, Rest>();
  const look = (): void => {
    const now = performance.now();
    for (const [socket, rest] of rests) {
      const bytes = restOf(socket);
      if (bytes === 0 || bytes !== rest.bytes) Object.assign(rest, { bytes, since: now });
      else if (now - rest.since >= stallMs) socket.destroy();
    }
  };
  server.on('setSecureContext' in server ? 'secureConnection' : 'connection', (socket: Socket) => {
    rests.set(socket, { bytes: 0, since: 0 });
    socket.once('close', () => rests.delete(socket));
  });
  const looking = setInterval(look, Math.min(MOST_BETWEEN_MS, stallMs / 4)).unref();
  server.once('close', () => clearInterval(looking));
}

/** Bytes that wait in the process. Node counts a write that is under way whole; what it has left is the handle's. */
function restOf(socket: Socket & { readonly _handle?: { readonly writeQueueSize: number } | null }): number {
  return socket.writableLength === 0 ? 0 : socket.writableLength + (socket._handle?.writeQueueSize ?? 0);
}
