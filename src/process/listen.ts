import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';

/** The service cannot start, told in one line. */
export class StartError extends Error {}

/** Where to listen; port 0: any that is free. `setting` names what decides the port. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  readonly setting: string;
}

/**
 * Connections that the kernel may have accepted and we have not yet; it lowers this to its own bound
 * (net.core.somaxconn). With Node's 511, of a thousand clients that connect at once those that find no room
 * wait a second or more, until they send again.
 */
const BACKLOG = 4096;

/** Resolves when the server listens. Throws StartError. */
export async function listen(server: Server, { host, port, setting }: ListenAddress): Promise<void> {
  server.listen({ host, port, backlog: BACKLOG });
  try {
    await once(server, 'listening');
  } catch (error) {
    const taken = (error as { code?: string }).code === 'EADDRINUSE';
    throw new StartError(
      taken
        ? `port ${port} of ${host} is taken: set ${setting} to another`
        : `cannot listen on ${host}: ${(error as Error).message}`,
    );
  }
}

/** Where a bound server is reached; `host` as it was given to `bind`. */
export function urlOf(server: Server, host: string): string {
  const { port } = server.address() as AddressInfo;
  return `${'setSecureContext' in server ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
