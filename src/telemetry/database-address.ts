/** Where a database is, as its URL tells. */
export interface Peer {
  readonly host: string;
  readonly port: number;
  readonly database: string;
}

/** Of a `postgres://` URL; a database that it does not name is the one of the same name as the user. */
export function peerOf(databaseUrl: string): Peer {
  const { hostname, port, pathname } = new URL(databaseUrl);
  return { host: hostname, port: Number(port || 5432), database: decodeURIComponent(pathname.slice(1)) };
}
