import { setFlagsFromString } from 'node:v8';
import { runCommand, UsageError } from './cli/exit.js';
import { print } from './cli/output.js';
import { type Config, configWarnings, loadEnvFile, readConfig, settingFor } from './config/config.js';
import { readDeclarations } from './declarations/read-declarations.js';
import { startMessage } from './start-message.js';
import { createLog, type Log } from './telemetry/log.js';
import { logLines } from './telemetry/log-output.js';
import { readableLines } from './telemetry/readable-lines.js';

// Measurements of both flags are in bench/experiments.md.
// V8 allocates in the old generation what most earlier objects of the same line outlived. Lines that serve connections,
// which live on, as well as requests, which do not (`once` of Node's events), would keep the requests' objects until a
// full collection.
setFlagsFromString('--no-allocation-site-pretenuring');
// Collects the young generation when it is full instead of at four fifths: with many connections, each collection copies
// all requests in flight.
setFlagsFromString('--no-minor-gc-task');

const args = process.argv
  .slice(2)
  .filter((argument, index) => index > 0 || !['serve', 'start'].includes(argument));
const json = args.includes('--json');

async function main(): Promise<void> {
  requireNoArguments(args.filter((argument) => argument !== '--json'));
  const loaded = loadEnvFile();
  const config = readConfig();
  const url = await run(
    config,
    createLog(config.logLevel, process.stdout.isTTY && !json ? readableLines(logLines()) : logLines()),
  );
  if (url === undefined) return;
  const names = readDeclarations(config.collections).collections.map(({ name }) => name);
  const { auth } = config;
  print(json, { url, collections: names, auth }, startMessage(config, url, names, loaded));
}

function requireNoArguments([argument]: string[]): void {
  if (argument === undefined) return;
  const setting = settingFor(argument);
  const kind = argument.startsWith('-') ? 'option' : 'argument';
  const hint =
    setting === undefined ? 'settings are environment variables' : `set ${setting} in the environment`;
  throw new UsageError(`there is no ${kind} ${argument}: ${hint}`, 'serve');
}

/** Returns the URL of the service; undefined in a worker. Each kind of process loads only its own code. */
async function run(config: Config, log: Log): Promise<string | undefined> {
  const isCluster = config.workers > 1;
  if (isCluster && (await import('node:cluster')).default.isWorker) {
    await (await import('./cluster/worker.js')).runWorker(config, log);
    return undefined;
  }
  for (const warning of configWarnings()) log.warn(warning);
  return isCluster
    ? (await import('./cluster/primary.js')).runPrimary(config, log, json)
    : (await import('./standalone.js')).runAlone(config, log, json);
}

void runCommand(main, { json });
