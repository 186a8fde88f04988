import http from 'node:http';
import https from 'node:https';
import { readConfig } from '../config/config.js';
import { ExitError } from '../exit-error.js';
import { runCommand } from './exit.js';

/** Exits with 0 when the service of the same environment responds to /healthz on this machine, else with 1. */

const TIMEOUT_MS = 2000;

/** A wildcard address is reached at its loopback. */
const LOOPBACK: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

function statusOfHealth(): Promise<number> {
  const { host, port, tlsCert } = readConfig();
  const options = {
    host: LOOPBACK[host] ?? host,
    port,
    path: '/healthz',
    timeout: TIMEOUT_MS,
    agent: false as const,
  };
  return new Promise((resolve, reject) => {
    const request =
      tlsCert === undefined
        ? http.get(options)
        : // The certificate names another host than this address.
          https.get({ ...options, rejectUnauthorized: false });
    request.once('response', (response) => {
      response.resume();
      resolve(response.statusCode!);
    });
    request.once('timeout', () => request.destroy(new Error(`no response within ${TIMEOUT_MS} ms`)));
    request.once('error', ({ message }) => reject(new ExitError(message)));
  });
}

// A container's health check knows only 0 and 1.
void runCommand(async () => {
  const status = await statusOfHealth();
  if (status !== 200) throw new ExitError(`/healthz responds with ${status}`);
  process.exit(0);
}, 1);
