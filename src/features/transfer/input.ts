import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, mkdtempSync, readSync, rmSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { InputError } from '../../cli/io.js';
import { markOf } from '../../formats/text-encoding.js';

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

/** Opens a file, which has a name in messages. Throws InputError. */
export async function openFile(file: string, name: string): Promise<Input> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file);
    const { size } = await handle.stat();
    const head = Buffer.alloc(Math.min(size, HEAD_BYTES));
    readSync(handle.fd, head);
    const read = (start: number) =>
      createReadStream(file, { start, highWaterMark: READ_BYTES }) as AsyncIterable<Buffer>;
    const digest = createHash('sha256').update(head).update(String(size)).digest('hex');
    const { encoding, bytes: start } = markOf(head);
    if (encoding !== 'utf-8') throw new Error('it is in UTF-16: save it as UTF-8');
    const format = formatByName(name) ?? formatOf(head);
    const isWhole = size === head.length;
    return { name, format, head, size, digest, start, isWhole, read, close: () => undefined };
  } catch (error) {
    throw new InputError(`${name} cannot be read: ${(error as Error).message}`);
  } finally {
    await handle?.close();
  }
}

/** Copies bytes to a temporary file, which is the input then: an import may read it several times. */
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

const EXTENSIONS: Readonly<Record<string, Format>> = {
  ndjson: 'ndjson',
  jsonl: 'ndjson',
  csv: 'csv',
  json: 'json',
};

/** The format that the extension of a file names. */
export const formatByName = (name: string): Format | undefined =>
  EXTENSIONS[/\.([a-z]+)$/i.exec(name)?.[1]?.toLowerCase() ?? ''];

/** The format by the beginning of a file. */
function formatOf(head: Buffer): Format {
  // Without the byte order mark.
  const text = head.toString('utf8').trimStart();
  if (!/^[[{]/.test(text)) return 'csv';
  // A line of NDJSON holds a whole record, and a file of JSON begins with an array.
  return /^(?:\[|\{[ \r]*(?:\n|"[^"]*"\s*:\s*\[))/.test(text) ? 'json' : 'ndjson';
}
