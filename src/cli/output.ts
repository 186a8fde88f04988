import { randomUUID } from 'node:crypto';
import { accessSync, constants, createWriteStream, lstatSync, renameSync, rmSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { fileOf, type Io, OutputError } from './io.js';

/** Prints what a command has done: with --json the document alone, else the text. */
export function print({ stdout }: Pick<Io, 'stdout'>, json: boolean, document: object, text: string): void {
  stdout.write(json ? `${JSON.stringify(document)}\n` : text);
}

/** Prints a list that is read `max` at a time, each page after an id: with --json an array, else one object a line. */
export async function printPages<Item extends { readonly id: string }>(
  { stdout }: Io,
  json: boolean,
  max: number,
  read: (after: string | undefined) => Promise<readonly Item[]>,
  shown: (item: Item) => object,
): Promise<void> {
  let before = json ? '[\n' : '';
  let page: readonly Item[] = [];
  do {
    page = await read(page.at(-1)?.id);
    for (const item of page) {
      stdout.write(`${before}${JSON.stringify(shown(item))}${json ? '' : '\n'}`);
      if (json) before = ',\n';
    }
  } while (page.length === max);
  if (json) stdout.write(before === '[\n' ? '[]\n' : '\n]\n');
}

/**
 * Gives `work` the file that an option names, which has its new content when the work is done, and no more rights than before. Throws
 * OutputError, also for what is no file, links included: a shell can redirect the standard output to it.
 */
export async function withOutputFile<T>(
  io: Io,
  file: string,
  work: (out: Writable) => Promise<T>,
): Promise<T> {
  const unwritten = (error: Error) =>
    new OutputError(`${file} cannot be written: ${error.message}`, { cause: error });
  const attempt = <R>(step: () => R): R => {
    try {
      return step();
    } catch (error) {
      throw unwritten(error as Error);
    }
  };
  const path = fileOf(io, file);
  const former = attempt(() => lstatSync(path, { throwIfNoEntry: false }));
  if (former?.isFile() === false)
    throw unwritten(new Error('it is no file; redirect the standard output to it'));
  // The right to the folder is enough to replace a file.
  if (former) attempt(() => accessSync(path, constants.W_OK));
  const part = `${path}.${randomUUID()}.part`;
  const discard = () => rmSync(part, { force: true });
  process.once('exit', discard);
  const out = createWriteStream(part, { highWaterMark: 1_048_576, mode: former?.mode ?? 0o666 });
  out.on('error', () => undefined);
  try {
    const result = await withErrors(out, unwritten, work);
    await withErrors(out, unwritten, () => finished(out.end(), { readable: false }));
    attempt(() => renameSync(part, path));
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
