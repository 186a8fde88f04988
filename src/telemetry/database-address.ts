export interface Peer {
  readonly host: string;
  readonly port: number;
  readonly database: string;
}

/** The address in a `postgres://` URL. */
export function peerOf(databaseUrl: string): Peer {
  const { hostname, port, pathname } = new URL(databaseUrl);
  return { host: hostname, port: Number(port || 5432), database: decodeURIComponent(pathname.slice(1)) };
}
