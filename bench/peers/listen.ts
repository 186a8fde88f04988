import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Listens on a free port of the loopback address and tells where. */
export function listen(server: Server): void {
  // Connections stay open as long as Plinth's do, for the row that lets them idle.
  server.keepAliveTimeout = 65_000;
  server.listen(0, '127.0.0.1', 4096, () => announce(server));
}

/** Prints the address of a server that listens. */
export function announce(server: Server): void {
  process.stdout.write(`ready on http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
}
