import http from 'node:http';
import https from 'node:https';
import { ConfigError, readConfig } from '../config/config.js';

/** Exits with 0 when the service of the same environment answers /healthz on this machine, else with 1. */

const PATIENCE_MS = 2000;

/** An address that stands for all of a machine's is reached at its loopback. */
const LOOPBACK: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

function ask(): Promise<number> {
  const { host, port, tlsCert } = readConfig();
  const where = {
    host: LOOPBACK[host] ?? host,
    port,
    path: '/healthz',
    timeout: PATIENCE_MS,
    agent: false as const,
  };
  return new Promise((resolve, reject) => {
    const request =
      tlsCert === undefined
        ? http.get(where)
        : // Whether it answers is the question, not who it is: a certificate names another host than this address.
          https.get({ ...where, rejectUnauthorized: false });
    request.once('response', (response) => {
      response.resume();
      resolve(response.statusCode!);
    });
    request.once('timeout', () => request.destroy(new Error(`no answer within ${PATIENCE_MS} ms`)));
    request.once('error', reject);
  });
}

ask().then(
  (status) => {
    if (status !== 200) process.stderr.write(`plinth: /healthz answers ${status}\n`);
    process.exit(status === 200 ? 0 : 1);
  },
  (error: Error) => {
    const lines = error instanceof ConfigError ? error.faults : [error.message];
    for (const line of lines) process.stderr.write(`plinth: ${line}\n`);
    process.exit(1);
  },
);
