import type { Readable } from 'node:stream';
import type { Lines, Rows } from '../http/reply.js';
import { turn } from '../limits/turn.js';

/** A binary COPY begins with a signature, flags and the length of an extension. */
const COPY_HEADER_BYTES = 19;
/** Each row begins with its number of columns (2 bytes) and the length of its one document (4 bytes). */
const ROW_HEADER_BYTES = 6;

/** Documents are gathered up to this size. */
const CHUNK_BYTES = 65_536;
const OPEN_BRACKET = 0x5b;
const COMMA = 0x2c;
const LINE_FEED = 0x0a;

/**
 * The rows of a binary COPY, each of which holds one JSON document, as one JSON array or as lines, in constant memory: the next
 * chunk is read when the caller has used the one before it. Throws the database's error if the COPY fails half way.
 */
export async function* arrange(
  rows: Readable,
  { lines, frame = ['', ''] }: Pick<Rows, 'lines' | 'frame'>,
): AsyncGenerator<Buffer> {
  const lineOf = lines?.lineOf;
  let parts: Buffer[] = [Buffer.from(lines ? lines.header : frame[0])];
  let bytes = parts[0]!.length;
  let isEmpty = true;
  for await (const chunk of chunksOf(rows)) {
    if (bytes >= CHUNK_BYTES) {
      yield Buffer.concat(parts);
      parts = [];
      bytes = 0;
    }
    let part = lineOf ? await linesFrom(chunk, lineOf) : joinInPlace(chunk, lines ? LINE_FEED : COMMA);
    if (part.length === 0) continue;
    if (isEmpty && !lines) part[0] = OPEN_BRACKET;
    else if (isEmpty && !lineOf) part = part.subarray(1);
    isEmpty = false;
    parts.push(part);
    bytes += part.length;
  }
  if (!lines) parts.push(Buffer.from(`${isEmpty ? '[]' : ']'}${frame[1]}`));
  else if (!isEmpty && !lineOf) parts.push(Buffer.from('\n'));
  if (lines?.footer) parts.push(Buffer.from(await lines.footer()));
  yield Buffer.concat(parts);
}

async function linesFrom(chunk: Buffer, lineOf: NonNullable<Lines['lineOf']>): Promise<Buffer> {
  let text = '';
  for (const [start, end] of spansIn(chunk)) {
    await turn();
    const line = lineOf(chunk.toString('utf8', start, end));
    text += typeof line === 'string' ? line : await line;
  }
  return Buffer.from(text);
}

/** The chunks of a COPY without its header. After an error the stream stays open for the caller to end. */
async function* chunksOf(rows: Readable): AsyncGenerator<Buffer> {
  let headerBytes = COPY_HEADER_BYTES;
  for await (const chunk of rows.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    yield chunk.subarray(headerBytes);
    headerBytes = 0;
  }
}

/** Where the documents of a chunk begin and end. Throws if the chunk holds a part of a row. */
function* spansIn(chunk: Buffer): Generator<readonly [start: number, end: number]> {
  for (let at = 0; at < chunk.length; ) {
    const isTrailer = chunk.readInt16BE(at) < 0;
    if (isTrailer) return;
    const start = at + ROW_HEADER_BYTES;
    at = start + chunk.readInt32BE(at + 2);
    if (at > chunk.length) throw new Error('COPY returned a part of a row');
    yield [start, at];
  }
}

/**
 * Compacts a chunk in place to `separator document separator document ...`. There is space, because the header of each row,
 * which is removed, is longer than the separator.
 */
function joinInPlace(chunk: Buffer, separator: number): Buffer {
  let to = 0;
  for (const [start, end] of spansIn(chunk)) {
    chunk[to++] = separator;
    chunk.copyWithin(to, start, end);
    to += end - start;
  }
  return chunk.subarray(0, to);
}
