import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
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

const TIMEOUT_MS = 2000;

/** A wildcard address is reached at its loopback. */
const LOOPBACK: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** Where a service listens on this machine. */
export interface LocalAddress {
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
}

/** The head of the response to GET /healthz. Rejects if there is none in time. */
export function requestHealth({ host, port, isTls }: LocalAddress): Promise<IncomingMessage> {
  const options = {
    host: LOOPBACK[host] ?? host,
    port,
    path: '/healthz',
    timeout: TIMEOUT_MS,
    agent: false as const,
  };
  return new Promise((resolve, reject) => {
    const request = isTls
      ? // The certificate names another host than this address.
        https.get({ ...options, rejectUnauthorized: false })
      : http.get(options);
    request.once('response', (response) => {
      response.resume();
      resolve(response);
    });
    request.once('timeout', () => request.destroy(new Error(`no response within ${TIMEOUT_MS} ms`)));
    request.on('error', reject);
  });
}
