import type { Readable } from 'node:stream';

/** A binary COPY begins with a signature, flags and the length of an extension. */
const COPY_HEADER_BYTES = 19;
/** Each row begins with its number of columns (2 bytes) and the length of its one document (4 bytes). */
const ROW_HEADER_BYTES = 6;

/** The chunks of a COPY without its header. After an error the stream stays open for the caller to end. */
export async function* chunksOf(rows: Readable): AsyncGenerator<Buffer> {
  let headerBytes = COPY_HEADER_BYTES;
  for await (const chunk of rows.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    yield chunk.subarray(headerBytes);
    headerBytes = 0;
  }
}

/** The documents of a chunk. */
export function* documentsOf(chunk: Buffer): Generator<string> {
  for (const [start, end] of spansIn(chunk)) yield chunk.toString('utf8', start, end);
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
export function joinInPlace(chunk: Buffer, separator: number): Buffer {
  let to = 0;
  for (const [start, end] of spansIn(chunk)) {
    chunk[to++] = separator;
    chunk.copyWithin(to, start, end);
    to += end - start;
  }
  return chunk.subarray(0, to);
}
