import { setFlagsFromString } from 'node:v8';
import { runCommand } from './cli/exit.js';
import { type Config, configWarnings, readConfig } from './config/config.js';
import { hostsOf } from './config/edge.js';
import { isLoopback } from './config/parsers.js';
import { createLog, type Log } from './telemetry/log.js';
import { logLines } from './telemetry/log-output.js';

// Measurements of both flags are in docs/performance.md.
// V8 allocates in the old generation what most earlier objects of the same line outlived. Lines that serve connections,
// which live on, as well as requests, which do not (`once` of Node's events), would keep the requests' objects until a
// full collection.
setFlagsFromString('--no-allocation-site-pretenuring');
// Collects the young generation when it is full instead of at four fifths: with many connections, each collection copies
// all requests in flight.
setFlagsFromString('--no-minor-gc-task');

async function main(): Promise<void> {
  const config = readConfig();
  const url = await run(config, createLog(config.logLevel, logLines()));
  if (url === undefined) return;
  const schemes = config.auth.length > 0 ? config.auth.join(', ') : `none; ${hostsLine(config)}`;
  const workers = config.workers > 1 ? `; workers: ${config.workers}` : '';
  process.stdout.write(`Plinth is ready on ${url} (authentication: ${schemes}${workers})\n`);
}

/** Which Host fields are accepted while AUTH is off. */
function hostsLine(config: Config): string {
  const listed = hostsOf(config).filter((host) => !isLoopback(host) && !WILDCARDS.has(host));
  if (listed.length > 0) return `hosts: localhost, ${listed.join(', ')}`;
  return WILDCARDS.has(config.host)
    ? 'hosts: only localhost; for other clients set ALLOWED_HOSTS to the names and addresses that they use'
    : 'hosts: localhost';
}

/** Addresses to listen on that no client uses. */
const WILDCARDS = new Set(['0.0.0.0', '::']);

/** Returns the URL of the service; undefined in a worker. Each kind of process loads only its own code. */
async function run(config: Config, log: Log): Promise<string | undefined> {
  const isCluster = config.workers > 1;
  if (isCluster && (await import('node:cluster')).default.isWorker) {
    await (await import('./cluster/worker.js')).runWorker(config, log);
    return undefined;
  }
  for (const warning of configWarnings()) log.warn(warning);
  return isCluster
    ? (await import('./cluster/primary.js')).runPrimary(config, log)
    : (await import('./standalone.js')).runAlone(config, log);
}

void runCommand(main);
