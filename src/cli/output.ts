import { randomUUID } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  copyFileSync,
  createWriteStream,
  lstatSync,
  openSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
} from 'node:fs';
import { Socket } from 'node:net';
import { basename, dirname, isAbsolute, join } from 'node:path';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
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
 * Gives `work` the file that an option names. A regular file gets the whole new content at once, when the work is done,
 * and retains its mode and owner; what is no regular file is written to. Links are followed. Throws OutputError.
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
      complete();
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
  readonly complete: () => void;
  /** Removes what is incomplete. */
  readonly discard: () => void;
}

const nothing = (): void => undefined;

async function openTarget(named: string): Promise<Target> {
  const path = targetOf(named);
  // A link below /proc leads to an open file, which its path need not name.
  const isOpenFile = dirname(path).startsWith('/proc/');
  const former = statSync(path, { throwIfNoEntry: false });
  if (former?.isFIFO()) return { out: await openPipe(path), complete: nothing, discard: nothing };
  if (former && (isOpenFile || !former.isFile())) {
    const fd = openSync(path, constants.O_WRONLY | (former.isFile() ? constants.O_APPEND : 0));
    return { out: createWriteStream(path, { fd }).on('error', nothing), complete: nothing, discard: nothing };
  }
  if (former) accessSync(path, constants.W_OK);
  const part = `${path}.${randomUUID()}.part`;
  return {
    // Only the readers of the file may read the part.
    out: createWriteStream(part, { highWaterMark: 1_048_576, ...(former && { mode: 0o600 }) }).on(
      'error',
      nothing,
    ),
    complete: () => replace(path, part, former),
    discard: () => rmSync(part, { force: true }),
  };
}

const MAX_LINKS = 40;

/** The file that a path leads to, which need not exist. */
function targetOf(named: string): string {
  let path = named;
  for (let links = 0; links <= MAX_LINKS; links++) {
    // Not the one of JavaScript, which drops `link/..` before it follows the link.
    const folder = realpathSync.native(dirname(path));
    path = join(folder, basename(path));
    if (folder.startsWith('/proc/') || !lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink())
      return path;
    const to = readlinkSync(path);
    // Not joined, for the same reason.
    path = isAbsolute(to) ? to : `${folder}/${to}`;
  }
  throw new Error(`ELOOP: more than ${MAX_LINKS} links`);
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

function replace(path: string, part: string, former: Stats | undefined): void {
  if (former && !owns(part, former)) return copyFileSync(part, path);
  try {
    renameSync(part, path);
  } catch (error) {
    // The file is a mount of its own.
    if (!former || (error as NodeJS.ErrnoException).code !== 'EBUSY') throw error;
    copyFileSync(part, path);
  }
}

/** Gives a file the owner and mode of another, unless this user may not. */
function owns(part: string, { uid, gid, mode, nlink }: Stats): boolean {
  if (nlink > 1) return false;
  try {
    chownSync(part, uid, gid);
    chmodSync(part, mode & 0o7777);
    return true;
  } catch {
    return false;
  }
}
