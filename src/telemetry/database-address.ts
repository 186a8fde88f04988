import { knownServers } from '../database-url.js';

export interface Peer {
  readonly host: string;
  readonly port: number;
  readonly database: string;
}

/** The first address in a `postgres://` URL. */
export function peerOf(databaseUrl: string): Peer {
  const { hostname, port, pathname } = new URL(knownServers(databaseUrl).urls[0]);
  return { host: hostname, port: Number(port || 5432), database: decodeURIComponent(pathname.slice(1)) };
}
