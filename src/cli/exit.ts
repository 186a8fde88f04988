import { type ParseArgsConfig, parseArgs } from 'node:util';
import { ExitError } from '../exit-error.js';

/** Wrong usage: one line and the usage. EX_USAGE of sysexits.h. */
export class UsageError extends ExitError {
  override readonly exitCode = 64;

  constructor(
    message: string,
    readonly usage: string,
  ) {
    super(message);
  }
}

/**
 * Runs a command. An ExitError ends the process with its lines and its code, any other error with its stack and 1.
 * `exitCode` replaces both codes.
 */
export async function runCommand(command: () => Promise<void>, exitCode?: number): Promise<void> {
  try {
    await command();
  } catch (error) {
    for (const line of linesOf(error)) process.stderr.write(`plinth: ${line}\n`);
    if (error instanceof UsageError) process.stderr.write(error.usage);
    process.exit(exitCode ?? (error instanceof ExitError ? error.exitCode : 1));
  }
}

function linesOf(error: unknown): string[] {
  if (!(error instanceof ExitError)) return [(error as Error)?.stack ?? String(error)];
  return error.message === '' ? [] : error.message.split('\n');
}

/** Parses arguments. Throws UsageError. */
export function parse<T extends ParseArgsConfig>(config: T, usage: string): ReturnType<typeof parseArgs<T>> {
  try {
    return parseArgs(config);
  } catch (error) {
    throw new UsageError((error as Error).message, usage);
  }
}

/** Signals exit in order from now on, which ends an embedded PostgreSQL; by default it would go on. */
export function exitOnSignals(): void {
  process.once('SIGINT', () => process.exit(130));
  process.once('SIGTERM', () => process.exit(143));
}
