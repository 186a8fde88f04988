import { serversOf } from '../database-url/servers.js';

export interface Peer {
  readonly host: string;
  readonly port: number;
  readonly database: string;
}

/** The first server of a database URL. */
export function peerOf(databaseUrl: string): Peer {
  const { host, port, database } = serversOf(databaseUrl).servers[0];
  return { host, port, database };
}
