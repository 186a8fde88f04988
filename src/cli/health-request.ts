import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';

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
