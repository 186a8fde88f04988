import { setFlagsFromString } from 'node:v8';
import { WorkerEnded } from './cluster/worker-exit.js';
import { type Config, ConfigError, readConfig } from './config/config.js';
import { hostsOf } from './config/edge.js';
import { isLoopback } from './config/parsers.js';
import { EmbeddedError } from './db/embedded/cluster.js';
import { DatabaseError } from './db/migrate.js';
import { StartError } from './process/listen.js';
import { createLog, type Log } from './telemetry/log.js';
import { logLines } from './telemetry/log-output.js';

// V8 makes an object among what is old when most that the same line made before have lived on. For lines that serve both
// connections, which stay, and requests, which do not (the `once` of Node's events), that is wrong for the requests: all
// that the object leads to counts as used until all memory is collected. 1.44 x the rate of refused bodies and 0.7 of
// their CPU time, 1.2 x and 0.76 for creates, in a process that has served others before; 1.0 for reads.
setFlagsFromString('--no-allocation-site-pretenuring');
// The young are collected when there is no room for more, not when four fifths are full: 0.94 of the CPU time of reads at
// 1,000 connections, whose requests are all copied each time, and two thirds of what is moved to the old; 1.0 at 64.
setFlagsFromString('--no-minor-gc-task');

/** sysexits.h: the configuration is at fault. */
const EX_CONFIG = 78;

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

/** Gives where the service answers; undefined: the primary says so. Each process loads what it needs alone. */
async function run(config: Config, log: Log): Promise<string | undefined> {
  if (config.workers === 1) return (await import('./standalone.js')).runAlone(config, log);
  const { isPrimary } = (await import('node:cluster')).default;
  if (isPrimary) return (await import('./cluster/primary.js')).runPrimary(config, log);
  await (await import('./cluster/worker.js')).runWorker(config, log);
  return undefined;
}

function wordsOf(error: unknown): string {
  const told = [WorkerEnded, StartError, DatabaseError, EmbeddedError].some((type) => error instanceof type);
  return told ? (error as Error).message : ((error as Error)?.stack ?? String(error));
}

main().catch((error: unknown) => {
  if (error instanceof WorkerEnded && error.code !== null) process.exit(error.code || 1);
  const lines = error instanceof ConfigError ? error.faults : [wordsOf(error)];
  for (const line of lines) process.stderr.write(`plinth: ${line}\n`);
  process.exit(error instanceof ConfigError ? EX_CONFIG : 1);
});
