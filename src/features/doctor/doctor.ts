import { styleText } from 'node:util';
import { embeddedOf, settingsOf } from '../../app/open-features.js';
import { parse } from '../../cli/arguments.js';
import { configOf, type Io } from '../../cli/io.js';
import { type Config, ConfigError, configWarnings } from '../../config/config.js';
import { checkDeclarations } from '../../declarations/check-declarations.js';
import { loadDeclarations } from '../../declarations/load-declarations.js';
import { DeclarationError, type Declarations } from '../../declarations/read-declarations.js';
import type { ExitCode } from '../../errors/exit-error.js';
import { type Check, messageOf, resultsOf } from './check.js';
import { checkIssuerClock } from './check-clock.js';
import { checkDatabase, checkReplicas } from './check-database.js';
import { checkDisk, checkFiles, checkPorts, checkProxies, checkTls } from './check-host.js';
import { checkMail } from './check-mail.js';
import { COMMANDS } from './commands.js';

/** Checks the settings and what they need. Returns the exit code, 1 if there is a problem. Throws UsageError. */
export async function doctorCommand(args: string[], io: Io): Promise<ExitCode> {
  const { json } = parse(COMMANDS, 'doctor', '', args).values;
  io.process?.exitOnSignals();
  const checks: Check[] = [];
  // NO_COLOR and TERM decide.
  const colours = io.stdout.isTTY === true && io.stdout.hasColors?.(io.env) === true;
  for await (const found of allChecks(io)) {
    checks.push(...found);
    if (!json) io.stdout.write(found.map((check) => lineOf(check, colours)).join(''));
  }
  const count = (status: Check['status']) => checks.filter((check) => check.status === status).length;
  if (json) io.stdout.write(`${JSON.stringify(checks)}\n`);
  else io.stdout.write(`${count('problem')} problems, ${count('warning')} warnings\n`);
  return count('problem') > 0 ? 1 : 0;
}

type Found = readonly Check[] | Promise<readonly Check[]>;

async function* allChecks(io: Io): AsyncGenerator<readonly Check[]> {
  const { checks, config } = checkSettings(io);
  yield checks;
  if (config === undefined) return;
  const { checks: declared, declarations } = await checkDeclared(config);
  yield declared;
  const rest: Readonly<Record<string, () => Found>> = {
    database: () => checkDatabase(config, declarations, embeddedOf(io.features)),
    replicas: () => checkReplicas(config),
    clock: () => checkIssuerClock(config),
    mail: () => checkMail(config),
    disk: () => checkDisk(config),
    files: () => checkFiles(config),
    proxies: () => checkProxies(config),
    port: () => checkPorts(config),
    tls: () => checkTls(config),
  };
  for (const [name, check] of Object.entries(rest))
    try {
      yield await check();
    } catch (error) {
      const text = `this could not be checked: ${messageOf(error)}`;
      yield [resultsOf(name).problem(text, 'correct the cause, and repeat')];
    }
}

/** All faults of the settings. Without `config`, nothing that depends on them can be checked. */
function checkSettings(io: Io): { readonly checks: readonly Check[]; readonly config?: Config } {
  const { ok, problem, warning } = resultsOf('settings');
  const warnings = configWarnings(io.env, settingsOf(io.features)).map((text) =>
    warning(text, 'correct the name, or remove the variable'),
  );
  try {
    const config = configOf(io);
    return { checks: warnings.length > 0 ? warnings : [ok('all settings are valid')], config };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return {
      checks: [...error.faults.map((text) => problem(text, 'see docs/configuration.md')), ...warnings],
    };
  }
}

/** All faults of the declarations. */
async function checkDeclared(
  config: Config,
): Promise<{ readonly checks: readonly Check[]; readonly declarations: Declarations | undefined }> {
  const { ok, problem } = resultsOf('declarations');
  try {
    const declarations = await loadDeclarations(config);
    checkDeclarations(declarations);
    const names = declarations.collections.map(({ name }) => name).join(', ');
    return { checks: [ok(`${names} (${config.collections ?? 'built in'})`)], declarations };
  } catch (error) {
    if (!(error instanceof DeclarationError)) throw error;
    const faults = error.message.split('\n');
    const checks = faults.map((text) => problem(text, 'correct the file: docs/collections.md'));
    return { checks, declarations: undefined };
  }
}

const COLOURS = { ok: 'green', warning: 'yellow', problem: 'red' } as const;
const WIDTH = 9;
/** Node would look at the standard output of the process. */
const ANY_STREAM = { validateStream: false };

function lineOf({ check, status, message, advice }: Check, colours: boolean): string {
  const word = status.padEnd(WIDTH);
  const shown = colours ? styleText(COLOURS[status], word, ANY_STREAM) : word;
  return `${shown}${check.padEnd(13)} ${message}\n${advice === null ? '' : `${' '.repeat(WIDTH + 14)}${advice}\n`}`;
}
