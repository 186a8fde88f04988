import { once } from 'node:events';
import net from 'node:net';
import { Transform } from 'node:stream';
import { claimPort } from './claimed-port.js';
import type { Test } from './test.js';

/** A database behind a network of the test's own. */
export interface Proxy {
  /** The database's URL by way of the proxy. */
  readonly url: string;
  /** Refuses new connections; those there are stay. */
  refuse(): void;
  /** Ends every connection and refuses new ones. */
  cut(): void;
  /** Ends every connection by a reset, and refuses new ones. */
  reset(): void;
  /** Every byte vanishes, and neither side is notified; what was open then stays dead when it is restored. */
  swallow(): void;
  /** Passes that many bytes from the database on each connection from now on; the rest waits until the connection ends. */
  holdAfter(bytes: number): void;
  /** How many connections came while bytes vanished. */
  readonly swallowed: () => number;
  restore(): Promise<void>;
  /**
   * Ends the database's connections that were open when bytes vanished, as its keepalives do within a minute. A session of
   * which the last message has arrived in part has no other limit of time, and holds its locks.
   */
  endDead(): void;
}

/** Stands between a service and the database at `url`. Closed when the test ends. */
export async function testProxy(t: Test, url: string): Promise<Proxy> {
  const target = new URL(url);
  const open = new Set<net.Socket>();
  const dead = new WeakSet<net.Socket>();
  const keep = (socket: net.Socket): net.Socket => {
    open.add(socket);
    // A connection that breaks is what this is for: both ends see it close.
    return socket.on('error', () => undefined).on('close', () => open.delete(socket));
  };
  let swallowing = false;
  let swallowed = 0;
  let maxBytes = Number.POSITIVE_INFINITY;
  /** Passes what a connection may still send. */
  const gate = (): Transform => {
    let bytes = 0;
    return new Transform({
      transform: (chunk: Buffer, _, done) => {
        if (maxBytes < Number.POSITIVE_INFINITY) bytes += chunk.length;
        if (bytes <= maxBytes) done(null, chunk);
      },
    });
  };
  const server = net.createServer((near) => {
    if (swallowing) {
      swallowed++;
      return void keep(near).resume();
    }
    const far = keep(net.connect({ host: target.hostname, port: Number(target.port) }));
    keep(near).pipe(far).pipe(gate()).pipe(near);
    near.on('close', () => !dead.has(near) && far.destroy());
    far.on('close', () => !dead.has(far) && near.destroy());
  });
  const listen = async (port: number): Promise<number> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as net.AddressInfo).port;
  };
  const port = await listen(await claimPort(t));
  const end = (): void => {
    for (const socket of open) socket.destroy();
  };
  t.teardown(() => {
    end();
    server.close();
  });
  const near = new URL(url);
  near.hostname = '127.0.0.1';
  near.port = String(port);
  return {
    url: String(near),
    refuse: () => {
      server.close();
    },
    cut: () => {
      if (server.listening) server.close();
      end();
    },
    reset: () => {
      if (server.listening) server.close();
      for (const socket of open) socket.resetAndDestroy();
    },
    swallow: () => {
      swallowing = true;
      for (const socket of open) {
        dead.add(socket);
        socket.unpipe().resume();
      }
    },
    holdAfter: (bytes) => {
      maxBytes = bytes;
    },
    swallowed: () => swallowed,
    restore: async () => {
      swallowing = false;
      if (!server.listening) await listen(port);
    },
    endDead: () => {
      for (const socket of open) if (dead.has(socket)) socket.destroy();
    },
  };
}
