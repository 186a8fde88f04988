import { readFileSync } from 'node:fs';
import { type ExitCode, ExitError } from '../errors/exit-error.js';
import { textOf } from '../formats/text-encoding.js';
import { fileOf, type Io } from './io.js';

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

/** The text of a small file that an argument names. Throws InputError. */
export function inputText(io: Io, file: string): string {
  try {
    return textOf(readFileSync(fileOf(io, file)));
  } catch (error) {
    throw new InputError(`${file} cannot be read: ${(error as Error).message}`);
  }
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
    stderr.write(json ? `${JSON.stringify({ error: documentOf(error) })}\n` : await linesOf(error, usageOf));
    return error instanceof ExitError ? error.exitCode : INTERNAL;
  }
}

const INTERNAL = 70;

function documentOf(error: unknown): { code: string; message: string } {
  if (error instanceof ExitError) return { code: error.code, message: error.message };
  return { code: 'INTERNAL', message: (error as Error)?.message ?? String(error) };
}

async function linesOf(error: unknown, usageOf: UsageOf): Promise<string> {
  if (!(error instanceof ExitError)) return `plinth: ${(error as Error)?.stack ?? String(error)}\n`;
  const text = error.message === '' ? '' : `${error.message}\n`.replace(/^(?=.|\n)/gm, 'plinth: ');
  return error instanceof UsageError ? text + (await usageOf(error.command)) : text;
}
