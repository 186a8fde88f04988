import { styleText } from 'node:util';
import { embeddedOf } from '../../app/open-features.js';
import { parse } from '../../cli/arguments.js';
import type { Io } from '../../cli/io.js';
import { hasColours } from '../../cli/output.js';
import type { Config } from '../../config/config.js';
import type { ExitCode } from '../../errors/exit-error.js';
import type { Check } from './check.js';
import { checkIssuerClock } from './check-clock.js';
import { checkDatabase, checkReplicas } from './check-database.js';
import { checkDisk, checkFiles, checkPorts } from './check-host.js';
import { checkProxies } from './check-proxies.js';
import { checkDeclared, checkSettings, failedCheck } from './check-settings.js';
import { checkTls } from './check-tls.js';
import { COMMANDS } from './commands.js';

/** Checks the settings and what they need. Returns the exit code, 1 if there is a problem. Throws UsageError. */
export async function doctorCommand(args: string[], io: Io): Promise<ExitCode> {
  const { json } = parse(COMMANDS, 'doctor', '', args).values;
  io.process?.exitOnSignals();
  const checks: Check[] = [];
  const colours = hasColours(io);
  for await (const found of allChecks(io)) {
    checks.push(...found);
    if (!json) io.stdout.write(found.map((check) => lineOf(check, colours)).join(''));
  }
  const count = (status: Check['status']) => checks.filter((check) => check.status === status).length;
  if (json) io.stdout.write(`${JSON.stringify(checks)}\n`);
  else io.stdout.write(`${count('problem')} problems, ${count('warning')} warnings\n`);
  return count('problem') > 0 ? 1 : 0;
}

async function* allChecks(io: Io): AsyncGenerator<readonly Check[]> {
  const { checks, config } = checkSettings(io);
  yield checks;
  if (config === undefined) return;
  const { checks: declared, declarations } = await checkDeclared(config);
  yield declared;
  const rest: [string, () => readonly Check[] | Promise<readonly Check[]>][] = [
    ['database', () => checkDatabase(config, declarations, embeddedOf(io.features))],
    ['replicas', () => checkReplicas(config)],
    ...restOf(config),
  ];
  for (const [name, check] of rest) {
    try {
      yield await check();
    } catch (error) {
      yield [failedCheck(name, error)];
    }
  }
}

const restOf = (config: Config): [string, () => readonly Check[] | Promise<readonly Check[]>][] => [
  ['clock', () => checkIssuerClock(config)],
  ['disk', () => checkDisk(config)],
  ['files', () => checkFiles(config)],
  ['proxies', () => checkProxies(config)],
  ['port', () => checkPorts(config)],
  ['tls', () => checkTls(config)],
];

const COLOURS = { ok: 'green', warning: 'yellow', problem: 'red' } as const;
const WIDTH = 9;
/** Node would look at the standard output of the process. */
const ANY_STREAM = { validateStream: false };

function lineOf({ check, status, message, advice }: Check, colours: boolean): string {
  const word = status.padEnd(WIDTH);
  const shown = colours ? styleText(COLOURS[status], word, ANY_STREAM) : word;
  return `${shown}${check.padEnd(13)} ${message}\n${advice === null ? '' : `${' '.repeat(WIDTH + 14)}${advice}\n`}`;
}
