import type { Openable } from '../app/open-features.js';
import type { Io, OwnProcess } from './io.js';

/** The standard streams and the environment of this process, whose program has these features. A stream is opened when it is used. */
export function processIo(features: readonly Openable[]): Io {
  return {
    features,
    get stdin() {
      return process.stdin;
    },
    get stdout() {
      return process.stdout;
    },
    get stderr() {
      return process.stderr;
    },
    env: process.env,
    process: ownProcess,
  };
}

const ownProcess: OwnProcess = {
  exitOnSignals: () => {
    process.once('SIGINT', () => process.exit(130));
    process.once('SIGTERM', () => process.exit(143));
  },
  exitWithoutReader: () => void process.stdout.on('error', () => process.exit(1)),
  untilSignal: () =>
    new Promise((resolve) => {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
    }),
};

/**
 * Ends this process with the exit code of a run. With 0 it ends when nothing is open: a service goes on. With others it
 * exits, since an error may have left something open.
 */
export function exitWith(code: number): void {
  process.exitCode = code;
  if (code === 0) return;
  // Node writes to a pipe of Windows in the background.
  if (process.stdout.writableLength === 0) process.exit(code);
  process.stdout.write('', () => process.exit(code));
}
