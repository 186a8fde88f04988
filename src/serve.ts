import { setFlagsFromString } from 'node:v8';
import { isOn, settingsOf } from './app/open-features.js';
import { configOf, type Io, UsageError } from './cli/io.js';
import { print } from './cli/output.js';
import { type Config, configWarnings, loadEnvFile, settingFor } from './config/config.js';
import { readDeclarations } from './declarations/read-declarations.js';
import { ExitError } from './errors/exit-error.js';
import type { Started } from './feature.js';
import { FEATURES } from './features.js';
import { startMessage } from './start/start-message.js';
import { createLog, type Log, readableLines } from './telemetry/log.js';
import { logLines } from './telemetry/log-output.js';

/**
 * Starts the service and prints its address. It ends with its process. Throws UsageError and ConfigError, ExitError without
 * a process of its own, and what prevents the start.
 */
export async function serve(args: readonly string[], io: Io): Promise<void> {
  const json = args.includes('--json');
  const isWatching = args.includes('--watch');
  requireNoArguments(args.filter((argument) => argument !== '--json' && argument !== '--watch'));
  const loaded = loadEnvFile(io.env, io.cwd);
  const config = configOf(io);
  if (!io.process) throw new ExitError('the service needs a process of its own');
  setFlags();
  const lines = logLines(io.stdout);
  const log = createLog(config.logLevel, io.stdout.isTTY && !json ? readableLines(lines) : lines);
  const started = await (isWatching ? startWatching : start)(config, log, io, json);
  if (started === undefined) return;
  const { url } = started;
  const names = readDeclarations(config.collections, config.folder).collections.map(({ name }) => name);
  const { auth } = config;
  const message = json ? '' : await startMessage(FEATURES, config, started, names, loaded);
  print(io, json, { url, collections: names, auth }, message);
}

/** Measurements of both flags are in bench/experiments.md. */
function setFlags(): void {
  // V8 allocates in the old generation what most earlier objects of the same line outlived. Lines that serve connections,
  // which live on, as well as requests, which do not (`once` of Node's events), would keep the requests' objects until a
  // full collection.
  setFlagsFromString('--no-allocation-site-pretenuring');
  // Collects the young generation when it is full instead of at four fifths: with many connections, each collection copies
  // all requests in flight.
  setFlagsFromString('--no-minor-gc-task');
}

function requireNoArguments([argument]: string[]): void {
  if (argument === undefined) return;
  const setting = settingFor(argument, settingsOf(FEATURES));
  const kind = argument.startsWith('-') ? 'option' : 'argument';
  const hint =
    setting === undefined ? 'settings are environment variables' : `set ${setting} in the environment`;
  throw new UsageError(`there is no ${kind} ${argument}: ${hint}`, 'serve');
}

/** The service for development, which follows changes of the declarations. */
async function startWatching(config: Config, log: Log, io: Io, json: boolean): Promise<Started | undefined> {
  for (const warning of configWarnings(io.env, settingsOf(FEATURES))) log.warn(warning);
  const print = (text: string) => void io.stderr.write(`${text}\n`.replace(/^(?=.)/gm, 'plinth: '));
  const watching = { log, features: FEATURES, readConfig: () => configOf(io), isQuiet: json, print };
  for (const { load } of FEATURES) {
    const { watch } = (await load()).default;
    if (watch) return watch(config, watching);
  }
  return undefined;
}

/** Returns undefined in a process that prints nothing. Each kind of process loads only its own code. */
async function start(config: Config, log: Log, io: Io, json: boolean): Promise<Started | undefined> {
  const warnings = configWarnings(io.env, settingsOf(FEATURES));
  for (const feature of FEATURES) {
    if (!isOn(feature, config)) continue;
    const { serve } = (await feature.load()).default;
    if (serve) return serve(config, log, { isQuiet: json, warnings, features: FEATURES });
  }
  for (const warning of warnings) log.warn(warning);
  return (await import('./start/standalone.js')).runAlone(config, log, json);
}
