import { readFileSync } from 'node:fs';
import type { Interface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';
import { type Openable, settingsOf } from '../app/open-features.js';
import { type Config, readConfig } from '../config/config.js';
import { pathIn } from '../config/parsers.js';
import { type ExitCode, ExitError } from '../errors/exit-error.js';
import { textOf } from '../formats/text-encoding.js';

/** An output, and whether it is a terminal, as Node says of a process's. */
export type Output = Writable & {
  readonly isTTY?: boolean;
  readonly hasColors?: (env: object) => boolean;
};

export type Input = Readable & { readonly isTTY?: boolean };

/**
 * The streams, the environment and the folder of a run of the command line, and the features of its program. A command uses
 * nothing else of its process, so that runs with different ones are independent of each other.
 */
export interface Io {
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  /** The environment. A file `.env` adds to it. */
  readonly env: Record<string, string | undefined>;
  /** The folder of relative paths, and of the file `.env`; absent: the current folder of the process. */
  readonly cwd?: string;
  /** The features that the program has. */
  readonly features: readonly Openable[];
  /** The process, if the run is all that it does. */
  readonly process?: OwnProcess;
}

/** A process that exists for one run. */
export interface OwnProcess {
  /** Signals exit in order from now on, which ends an embedded PostgreSQL; by default it would go on. */
  exitOnSignals(): void;
  /** The process exits from now on when the reader of the standard output is gone. */
  exitWithoutReader(): void;
  /** Resolves with the next signal to stop. */
  untilSignal(): Promise<void>;
}

/** The settings. Throws ConfigError. */
export const configOf = ({ env, cwd = '', features }: Io): Config =>
  readConfig(env, {}, cwd, settingsOf(features));

/** A file that an argument names, as Node's file functions need it. */
export const fileOf = ({ cwd = '' }: Io, path: string): string => pathIn(cwd, path);

/** The next line of an input after a prompt. Rejects when the input fails or ends before, which `question` alone ignores. */
export async function nextLine(lines: Interface, prompt: string): Promise<string> {
  const ended = new Promise<never>((_, reject) => {
    lines.on('error', (error) => reject(new ExitError(`the input cannot be read: ${error.message}`)));
    lines.once('close', () => reject(new ExitError('the input ended before a line')));
  });
  return Promise.race([lines.question(prompt), ended]);
}

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
