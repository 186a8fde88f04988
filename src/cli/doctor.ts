import { styleText } from 'node:util';
import type { Config } from '../config/config.js';
import { parse } from './arguments.js';
import type { Check } from './doctor/check.js';
import { checkIssuerClock } from './doctor/clock.js';
import { checkDatabase } from './doctor/database.js';
import { checkDisk, checkFiles, checkPorts } from './doctor/host.js';
import { checkProxies } from './doctor/proxies.js';
import { checkReplicas } from './doctor/replicas.js';
import { checkDeclared, checkSettings, failedCheck } from './doctor/settings.js';
import { checkTls } from './doctor/tls.js';
import { exitOnSignals } from './exit.js';
import { hasColours } from './output.js';

/** Checks the settings and what they need. The exit code is 1 if there is a problem. Throws UsageError. */
export async function doctorCommand(args: string[]): Promise<void> {
  const { json } = parse('doctor', '', args).values;
  exitOnSignals();
  const checks: Check[] = [];
  for await (const found of allChecks()) {
    checks.push(...found);
    if (!json) process.stdout.write(found.map(lineOf).join(''));
  }
  const count = (status: Check['status']) => checks.filter((check) => check.status === status).length;
  if (json) process.stdout.write(`${JSON.stringify(checks)}\n`);
  else process.stdout.write(`${count('problem')} problems, ${count('warning')} warnings\n`);
  if (count('problem') > 0) process.exitCode = 1;
}

async function* allChecks(): AsyncGenerator<readonly Check[]> {
  const { checks, config } = checkSettings();
  yield checks;
  if (config === undefined) return;
  const { checks: declared, declarations } = await checkDeclared(config);
  yield declared;
  const rest: [string, () => readonly Check[] | Promise<readonly Check[]>][] = [
    ['database', () => checkDatabase(config, declarations)],
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

function lineOf({ check, status, message, advice }: Check): string {
  const word = status.padEnd(WIDTH);
  const shown = hasColours() ? styleText(COLOURS[status], word) : word;
  return `${shown}${check.padEnd(13)} ${message}\n${advice === null ? '' : `${' '.repeat(WIDTH + 14)}${advice}\n`}`;
}
