import type { Interface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';
import { type Openable, settingsOf } from '../app/open-features.js';
import { type Config, readConfig } from '../config/config.js';
import { pathIn } from '../config/parsers.js';
import { ExitError } from '../errors/exit-error.js';

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
