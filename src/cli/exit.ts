import { ExitError } from '../exit-error.js';
import type { CommandName } from './commands.js';

/** Wrong usage of a command, or of all: one line and the usage. */
export class UsageError extends ExitError {
  override readonly exitCode = 64;

  constructor(
    message: string,
    readonly command?: CommandName,
  ) {
    super(message);
  }
}

/** An input file that cannot be used. */
export class InputError extends ExitError {
  override readonly exitCode = 64;
}

/** A file that cannot be written. */
export class OutputError extends ExitError {
  override readonly exitCode = 73;
}

/** How a command reports its end. */
export interface Ending {
  /** Whether an error is one line of JSON. */
  readonly json?: boolean;
  /** Replaces the exit code of every error. */
  readonly exitCode?: number;
}

/** Runs a command. An ExitError ends the process with its lines and its code, any other error with its stack and 70. */
export async function runCommand(command: () => Promise<void>, ending: Ending = {}): Promise<void> {
  try {
    await command();
  } catch (error) {
    if (ending.json) process.stderr.write(`${JSON.stringify({ error: documentOf(error) })}\n`);
    else process.stderr.write(await textOf(error));
    process.exit(ending.exitCode ?? (error instanceof ExitError ? error.exitCode : INTERNAL));
  }
}

const INTERNAL = 70;

function documentOf(error: unknown): { code: string; message: string } {
  if (error instanceof ExitError) return { code: error.code, message: error.message };
  return { code: 'INTERNAL', message: (error as Error)?.message ?? String(error) };
}

async function textOf(error: unknown): Promise<string> {
  if (!(error instanceof ExitError)) return `plinth: ${(error as Error)?.stack ?? String(error)}\n`;
  const text = error.message === '' ? '' : `${error.message}\n`.replace(/^(?=.|\n)/gm, 'plinth: ');
  return error instanceof UsageError ? text + (await usageText(error.command)) : text;
}

/** Loaded on demand: most runs print no usage. */
async function usageText(command: CommandName | undefined): Promise<string> {
  const { usageOf, GENERAL_USAGE } = await import('./help.js');
  return command === undefined
    ? `${GENERAL_USAGE}plinth --help lists the commands.\n`
    : `${usageOf(command)}plinth ${command} --help says more.\n`;
}

/** Signals exit in order from now on, which ends an embedded PostgreSQL; by default it would go on. */
export function exitOnSignals(): void {
  process.once('SIGINT', () => process.exit(130));
  process.once('SIGTERM', () => process.exit(143));
}
