import { type ExitCode, ExitError } from '../errors/exit-error.js';
import type { Io } from './io.js';

/** Wrong usage of a command, or of all: one line and the usage. */
export class UsageError extends ExitError {
  override readonly exitCode = 64;

  constructor(
    message: string,
    readonly command?: string,
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

export type UsageOf = (command: string | undefined) => Promise<string>;

/**
 * Runs a command, and returns its exit code. An ExitError is printed in its lines and has a code, any other error is
 * printed with its stack and has 70; `json`: an error is one line of JSON. `usageOf` resolves to the text that follows a
 * UsageError of a command, or of none.
 */
export async function exitCodeOf(
  // biome-ignore lint/suspicious/noConfusingVoidType: most commands have no result
  command: () => Promise<ExitCode | void>,
  { stderr }: Pick<Io, 'stderr'>,
  json = false,
  usageOf: UsageOf = async () => '',
): Promise<number> {
  try {
    return (await command()) ?? 0;
  } catch (error) {
    stderr.write(json ? `${JSON.stringify({ error: documentOf(error) })}\n` : await textOf(error, usageOf));
    return error instanceof ExitError ? error.exitCode : INTERNAL;
  }
}

const INTERNAL = 70;

function documentOf(error: unknown): { code: string; message: string } {
  if (error instanceof ExitError) return { code: error.code, message: error.message };
  return { code: 'INTERNAL', message: (error as Error)?.message ?? String(error) };
}

async function textOf(error: unknown, usageOf: UsageOf): Promise<string> {
  if (!(error instanceof ExitError)) return `plinth: ${(error as Error)?.stack ?? String(error)}\n`;
  const text = error.message === '' ? '' : `${error.message}\n`.replace(/^(?=.|\n)/gm, 'plinth: ');
  return error instanceof UsageError ? text + (await usageOf(error.command)) : text;
}
