import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { ExitError } from '../errors/exit-error.js';

/** The service cannot start. */
export class StartError extends ExitError {}

/** Where to listen; port 0: any that is free. `setting` is the variable of the port. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  readonly setting: string;
}

/**
 * Connections in the kernel's queue, which lowers this to net.core.somaxconn. With Node's 511, some of a thousand clients
 * that connect at once find the queue full and wait for a second or more, until they retransmit.
 */
const BACKLOG = 4096;

/** Resolves when the server listens. Throws StartError. */
export async function listen(server: Server, { host, port, setting }: ListenAddress): Promise<void> {
  server.listen({ host, port, backlog: BACKLOG });
  try {
    await once(server, 'listening');
    // A connection that cannot be accepted (EMFILE, ENOBUFS) must not end the process.
    server.on('error', () => undefined);
  } catch (error) {
    const isInUse = (error as { code?: string }).code === 'EADDRINUSE';
    throw new StartError(
      isInUse
        ? `port ${port} of ${host} is already in use: set ${setting} to another`
        : `cannot listen on ${host}: ${(error as Error).message}`,
    );
  }
}

/** A free port, which no other listener has at this moment; the given one if it is not 0. Throws StartError. */
export async function freePort(address: ListenAddress): Promise<number> {
  const server = createServer();
  await listen(server, address);
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** The URL of a server that listens on `host`. */
export function urlOf(server: Server, host: string): string {
  const { port } = server.address() as AddressInfo;
  return `${'setSecureContext' in server ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
