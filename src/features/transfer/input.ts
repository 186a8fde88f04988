import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, mkdtempSync, readSync, rmSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ExitError } from '../../errors/exit-error.js';
import { markOf, toUtf8 } from '../../formats/text-encoding.js';

/** The file cannot be loaded. */
export class FileError extends ExitError {
  override readonly exitCode = 64;
}

export type Format = 'ndjson' | 'csv' | 'json';

/** The input of an import: a file, or a copy of the standard input, in UTF-8. */
export interface Input {
  /** The name of the input in messages. */
  readonly name: string;
  readonly format: Format;
  /** The first bytes. */
  readonly head: Buffer;
  /** Bytes in all. */
  readonly size: number;
  /** Whether the first bytes are all. */
  readonly isWhole: boolean;
  /** A digest that identifies the content: of its beginning and its size. */
  readonly digest: string;
  /** The offset of the first byte of content. */
  readonly start: number;
  read(from: number): AsyncIterable<Buffer>;
  close(): void;
}

const HEAD_BYTES = 65_536;
/** Bytes of a file that are read at once. */
const READ_BYTES = 131_072;

/** Where the input is: a file with its name in messages, or a stream. */
export type Origin = { readonly file: string; readonly name: string } | Readable;

/** Opens a file, or a stream, which is copied to a file: an import may read it several times. Throws FileError. */
export async function openInput(origin: Origin): Promise<Input> {
  const opened = 'file' in origin ? await openFile(origin.file, origin.name) : await spool('-', origin);
  const { encoding } = markOf(opened.head);
  if (encoding === 'utf-8') return opened;
  try {
    return await spool(opened.name, toUtf8(opened.read(0), encoding));
  } catch (error) {
    if (error instanceof TypeError) throw new FileError(`${opened.name} is not ${encoding.toUpperCase()}`);
    throw error;
  } finally {
    opened.close();
  }
}

async function openFile(file: string, name: string): Promise<Input> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file);
    const { size } = await handle.stat();
    const head = Buffer.alloc(Math.min(size, HEAD_BYTES));
    readSync(handle.fd, head);
    const read = (start: number) =>
      createReadStream(file, { start, highWaterMark: READ_BYTES }) as AsyncIterable<Buffer>;
    const digest = createHash('sha256').update(head).update(String(size)).digest('hex');
    const { bytes: start } = markOf(head);
    const format = formatOf(name, head);
    const isWhole = size === head.length;
    return { name, format, head, size, digest, start, isWhole, read, close: () => undefined };
  } catch (error) {
    throw new FileError(`${name} cannot be read: ${(error as Error).message}`);
  } finally {
    await handle?.close();
  }
}

/** Copies bytes to a temporary file, which is the input then. */
export async function spool(name: string, bytes: AsyncIterable<Buffer>): Promise<Input> {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-import-'));
  const close = () => {
    process.off('exit', close);
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', close);
  const file = join(folder, 'input');
  try {
    await pipeline(bytes, createWriteStream(file));
    return { ...(await openFile(file, name)), close };
  } catch (error) {
    close();
    throw error;
  }
}

/** Formats by the extensions of files. */
export const EXTENSIONS: Readonly<Record<string, Format>> = {
  ndjson: 'ndjson',
  jsonl: 'ndjson',
  csv: 'csv',
  json: 'json',
};

/** The format by the name of the file, or else by its beginning. */
function formatOf(name: string, head: Buffer): Format {
  const known = EXTENSIONS[/\.([a-z]+)$/i.exec(name)?.[1]?.toLowerCase() ?? ''];
  if (known !== undefined) return known;
  const text = head
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .trimStart();
  if (!text.startsWith('{')) return text.startsWith('[') ? 'json' : 'csv';
  const isOneObject = !text.trimEnd().includes('\n') && /^\{\s*"[^"]*"\s*:\s*\[/.test(text);
  return isJson(text.split('\n', 1)[0]!) && !isOneObject ? 'ndjson' : 'json';
}

function isJson(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}
