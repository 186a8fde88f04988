import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, mkdtempSync, readSync, rmSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ExitError } from '../exit-error.js';

/** The file cannot be loaded. */
export class FileError extends ExitError {
  override readonly exitCode = 64;
}

export type Format = 'ndjson' | 'csv' | 'json';

/** What an import reads: a file, or the standard input, which can be read once. */
export interface Input {
  /** Its name in messages. */
  readonly name: string;
  readonly format: Format;
  /** The first bytes. */
  readonly head: Buffer;
  /** Bytes in all, if known. */
  readonly size: number | undefined;
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

/** Opens a file, or with `-` the standard input; `isReadTwice`: which is then copied to a file. Throws FileError. */
export async function openInput(file: string, isReadTwice = false): Promise<Input> {
  const opened = file === '-' ? await openStream(process.stdin) : await openFile(file, file);
  // Its collections may be in any order, so that it is read several times.
  return file === '-' && (isReadTwice || opened.format === 'json') ? await spool(opened) : opened;
}

async function openFile(file: string, name: string, format?: Format): Promise<Input> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file);
    const { size } = await handle.stat();
    const head = Buffer.alloc(Math.min(size, HEAD_BYTES));
    readSync(handle.fd, head);
    const read = (start: number) =>
      createReadStream(file, { start, highWaterMark: READ_BYTES }) as AsyncIterable<Buffer>;
    return inputOf({ name, format: format ?? formatOf(name, head), head, size, read });
  } catch (error) {
    throw new FileError(`${file} cannot be read: ${(error as Error).message}`);
  } finally {
    await handle?.close();
  }
}

async function openStream(stream: NodeJS.ReadableStream): Promise<Input> {
  const rest = (stream as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  const parts: Buffer[] = [];
  let [length, isEnd] = [0, false];
  while (length < HEAD_BYTES && !isEnd) {
    const { value, done } = await rest.next();
    isEnd = done === true;
    if (isEnd) break;
    parts.push(value);
    length += value.length;
  }
  const head = Buffer.concat(parts);
  async function* read(from: number): AsyncGenerator<Buffer> {
    let skip = from;
    const remaining = (bytes: Buffer): Buffer => {
      const part = bytes.subarray(skip);
      skip = Math.max(0, skip - bytes.length);
      return part;
    };
    yield remaining(head);
    while (!isEnd) {
      const { value, done } = await rest.next();
      isEnd = done === true;
      if (!isEnd) yield remaining(value);
    }
  }
  const beginning = head.subarray(0, HEAD_BYTES);
  return inputOf({ name: '-', format: formatOf('-', beginning), head: beginning, size: undefined, read });
}

function inputOf(input: Pick<Input, 'name' | 'format' | 'head' | 'size' | 'read'>): Input {
  const { head, size } = input;
  const digest = createHash('sha256').update(head).update(String(size)).digest('hex');
  const start = head.subarray(0, 3).toString('latin1') === '\xef\xbb\xbf' ? 3 : 0;
  return { ...input, digest, start, close: () => undefined };
}

/** Copies the standard input to a temporary file. */
async function spool(input: Input): Promise<Input> {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-import-'));
  const close = () => rmSync(folder, { recursive: true, force: true });
  process.once('exit', close);
  const file = join(folder, 'input');
  await pipeline(input.read(0), createWriteStream(file));
  return { ...(await openFile(file, input.name, input.format)), name: input.name, close };
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
  if (text.startsWith('[')) return 'json';
  return text.startsWith('{') ? (isObjectText(text.split('\n', 1)[0]!) ? ndjsonOrJson(text) : 'json') : 'csv';
}

/** One object alone may be a whole file. */
const ndjsonOrJson = (text: string): Format =>
  text.trimEnd().includes('\n') || !/^\{\s*"[^"]*"\s*:\s*\[/.test(text) ? 'ndjson' : 'json';

function isObjectText(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}
