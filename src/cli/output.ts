import { randomUUID } from 'node:crypto';
import {
  accessSync,
  constants,
  createReadStream,
  createWriteStream,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileOf, type Io, type Output, OutputError } from './io.js';

/** Prints what a command has done: with --json the document alone, else the text. */
export function print({ stdout }: Pick<Io, 'stdout'>, json: boolean, document: object, text: string): void {
  stdout.write(json ? `${JSON.stringify(document)}\n` : text);
}

/** Prints a list of unknown length: with --json an array, else one object a line. */
export class ListOutput {
  readonly #out: Output;
  #isFirst = true;

  constructor(
    { stdout }: Io,
    readonly json: boolean,
  ) {
    this.#out = stdout;
  }

  add(entry: object): void {
    const separator = this.json ? (this.#isFirst ? '[\n' : ',\n') : '';
    this.#out.write(`${separator}${JSON.stringify(entry)}${this.json ? '' : '\n'}`);
    this.#isFirst = false;
  }

  end(): void {
    if (this.json) this.#out.write(this.#isFirst ? '[]\n' : '\n]\n');
  }
}

/** Whether the standard output is a terminal with colours, which NO_COLOR and TERM decide. */
export const hasColours = ({ stdout, env }: Io): boolean =>
  stdout.isTTY === true && stdout.hasColors?.(env) === true;

/**
 * Gives `work` the file that an option names. A regular file gets the new content when the work is done, and retains its
 * mode and owner; what is no regular file is written to. Links are followed. Throws OutputError.
 */
export async function withOutputFile<T>(
  io: Io,
  file: string,
  work: (out: Writable) => Promise<T>,
): Promise<T> {
  const unwritten = (error: Error) =>
    new OutputError(`${file} cannot be written: ${error.message}`, { cause: error });
  let target: Target;
  try {
    target = await openTarget(fileOf(io, file));
  } catch (error) {
    throw unwritten(error as Error);
  }
  const { out, complete, discard } = target;
  process.once('exit', discard);
  try {
    const result = await withErrors(out, unwritten, work);
    await withErrors(out, unwritten, () => finished(out.end(), { readable: false }));
    try {
      await complete();
    } catch (error) {
      throw unwritten(error as Error);
    }
    return result;
  } finally {
    process.off('exit', discard);
    await new Promise<void>((resolve) => {
      if (out.closed) resolve();
      else out.destroy().once('close', resolve);
    });
    discard();
  }
}

/** Runs work, which ends with the next write to an output that has failed. Throws `replacement` for that error. */
export async function withErrors<T>(
  out: Writable,
  replacement: (error: Error) => Error,
  work: (out: Writable) => Promise<T>,
): Promise<T> {
  try {
    return await work(out);
  } catch (error) {
    throw out.errored ? replacement(out.errored) : error;
  }
}

interface Target {
  readonly out: Writable;
  /** Gives the file its content, after the last write. */
  readonly complete: () => void | Promise<void>;
  /** Removes what is incomplete. */
  readonly discard: () => void;
}

const nothing = (): void => undefined;

/** A path that leads to an open file of a process, beside which no other file can be. */
const OPEN_FILE = /^\/(?:dev|proc)\//;

async function openTarget(path: string): Promise<Target> {
  const former = statSync(path, { throwIfNoEntry: false });
  if (former?.isFIFO()) return { out: await openPipe(path), complete: nothing, discard: nothing };
  if (former && (!former.isFile() || OPEN_FILE.test(path))) {
    const fd = openSync(path, constants.O_WRONLY | (former.isFile() ? constants.O_APPEND : 0));
    return { out: createWriteStream(path, { fd }).on('error', nothing), complete: nothing, discard: nothing };
  }
  if (former) accessSync(path, constants.W_OK);
  const part = `${path}.${randomUUID()}.part`;
  // Only the readers of the file may read the part.
  const options = { highWaterMark: 1_048_576, ...(former && { mode: 0o600 }) };
  return {
    out: createWriteStream(part, options).on('error', nothing),
    // A copy follows links, also to a file that does not exist, and leaves the mode and the owner of the file.
    complete: () =>
      lstatSync(path, { throwIfNoEntry: false })
        ? pipeline(createReadStream(part), createWriteStream(path))
        : renameSync(part, path),
    discard: () => rmSync(part, { force: true }),
  };
}

const READER_WAIT_MS = 50;

/** Waits for a reader without a thread that waits, which would keep the process from ending. */
async function openPipe(path: string): Promise<Writable> {
  for (;;) {
    try {
      const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
      return new Socket({ fd, readable: false, writable: true }).on('error', nothing);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENXIO') throw error;
    }
    await sleep(READER_WAIT_MS);
  }
}
