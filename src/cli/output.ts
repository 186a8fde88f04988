import { randomUUID } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  constants,
  createWriteStream,
  lstatSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
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

/**
 * Gives `work` the file that an option names, which has its new content, and its mode, when the work is done. A link is followed. Throws
 * OutputError, also for what is no file: a shell can redirect the standard output to a pipe or a device.
 */
export async function withOutputFile<T>(
  io: Io,
  file: string,
  work: (out: Writable) => Promise<T>,
): Promise<T> {
  const unwritten = (error: Error) =>
    new OutputError(`${file} cannot be written: ${error.message}`, { cause: error });
  const { path, mode } = orThrow(unwritten, () => targetOf(fileOf(io, file)));
  const part = `${path}.${randomUUID()}.part`;
  const discard = () => rmSync(part, { force: true });
  process.once('exit', discard);
  const out = createWriteStream(part, { highWaterMark: 1_048_576, mode: mode ?? 0o666 });
  out.on('error', () => undefined);
  try {
    const result = await withErrors(out, unwritten, work);
    await withErrors(out, unwritten, () => finished(out.end(), { readable: false }));
    orThrow(unwritten, () => {
      // The umask applies to a file that is opened, but not to a change of the mode.
      if (mode !== undefined) chmodSync(part, mode);
      renameSync(part, path);
    });
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

/** The path of the file that a path leads to, and its mode; undefined: there is no file yet. */
function targetOf(path: string): { readonly path: string; readonly mode: number | undefined } {
  const former = statSync(path, { throwIfNoEntry: false });
  if (former?.isFile() === false || leadsToDevice(path))
    throw new Error('it is no file; redirect the standard output to it');
  if (!former) return { path, mode: undefined };
  accessSync(path, constants.W_OK);
  return { path: realpathSync(path), mode: former.mode };
}

/**
 * Whether a path, or a link to which it leads, is a device or a file that is open, such as /dev/stdout: by a new file in its
 * place, others would lose what they have written. The folder /dev/shm has files like any other.
 */
function leadsToDevice(path: string): boolean {
  const folder = realpathSync(dirname(path));
  const place = join(folder, basename(path));
  if (/^\/(?:dev|proc)\/(?!shm\/)/.test(place)) return true;
  const isLink = lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
  return isLink && leadsToDevice(resolve(folder, readlinkSync(place)));
}

function orThrow<T>(replacement: (error: Error) => Error, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw replacement(error as Error);
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
