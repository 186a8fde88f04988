import type { Server } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import type { BlockList, Socket } from 'node:net';
import { isTrusted } from '../http/client-identity.js';
import { clientKey } from '../limits/client-key.js';

export interface ConnectionLimits {
  readonly maxConnections: number;
  /** 0: any number. */
  readonly connectionsPerAddress: number;
  /** 0: any number. */
  readonly maxRequestsPerConnection: number;
  /** Proxies, whose connections are those of many. */
  readonly trustProxy: BlockList | undefined;
}

/** Connections over a bound that are told so; those beyond are closed without a word, which costs still less. */
const TOLD = 64;

/** What is known of each connection. */
export interface Connections {
  /** Whether a connection is one too many. */
  isSurplus(socket: Socket): boolean;
  /** Counts a request; true: it is the last that its connection may have. */
  isLast(socket: Socket): boolean;
}

/** Counts the connections of a server. IPv6 addresses count by their /64, as everywhere. */
export function limitConnections(server: Server | TlsServer, limits: ConnectionLimits): Connections {
  const { maxConnections, connectionsPerAddress, maxRequestsPerConnection, trustProxy } = limits;
  const ofAddress = new Map<string, number>();
  const surplus = new WeakSet<Socket>();
  const requests = new WeakMap<Socket, number>();
  let open = 0;

  /** Connections over the bound that the newest one has passed by most. */
  const over = (key: string | undefined): number =>
    Math.max(open - maxConnections, key === undefined ? 0 : ofAddress.get(key)! - connectionsPerAddress);

  function keyOf({ remoteAddress = '' }: Socket): string | undefined {
    if (connectionsPerAddress === 0 || isTrusted(remoteAddress, trustProxy)) return undefined;
    return clientKey('address', remoteAddress);
  }

  function close(key: string | undefined): void {
    open--;
    if (key === undefined) return;
    const left = ofAddress.get(key)! - 1;
    if (left === 0) ofAddress.delete(key);
    else ofAddress.set(key, left);
  }

  // Not by Node's maxConnections: in a worker of a cluster such a connection goes back to the primary, and one that no
  // worker takes goes round between them without end. Before Node looks at it: of an encrypted one this is the connection below, which carries the count.
  server.prependListener('connection', (socket: Socket) => {
    const key = keyOf(socket);
    open++;
    if (key !== undefined) ofAddress.set(key, (ofAddress.get(key) ?? 0) + 1);
    socket.once('close', () => close(key));
    if (over(key) > TOLD) socket.destroy();
    else if (over(key) > 0) surplus.add(socket);
  });
  server.on('secureConnection', (socket: Socket) => {
    if (over(keyOf(socket)) > 0) surplus.add(socket);
  });

  return {
    isSurplus: (socket) => surplus.has(socket),
    isLast: (socket) => {
      if (maxRequestsPerConnection === 0) return false;
      const count = (requests.get(socket) ?? 0) + 1;
      requests.set(socket, count);
      return count >= maxRequestsPerConnection;
    },
  };
}
