import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { Reply } from '../http/reply.js';

/** The client disconnected or stopped reading in the middle of a response. */
export class ReaderGone extends Error {
  constructor(readonly how: 'left' | 'stalled') {
    super(`the reader ${how}`);
  }
}

/** Bytes of the body that were written so far. */
export interface Written {
  sent: number;
}

/** Documents are gathered up to this size before they are written. */
const CHUNK_BYTES = 65_536;
const OPEN_BRACKET = 0x5b;
const COMMA = 0x2c;

/**
 * Streams the rows of a binary COPY, each of which holds one JSON document, as one JSON array in constant memory: the
 * next chunk is read when the one before it has been sent. Throws ReaderGone if the client disconnects or reads nothing
 * for `stallMs`, and the database's error if the COPY fails half way. The caller then aborts the connection, so that the
 * array never looks complete.
 */
export async function writeRows(
  res: ServerResponse,
  reply: Reply,
  common: readonly string[],
  rows: Readable,
  stallMs: number,
  written: Written,
): Promise<void> {
  if (res.destroyed) throw new ReaderGone('left');
  res.writeHead(reply.status, [...common, ...reply.headers] as never);
  const [before, after] = reply.frame ?? ['', ''];
  let parts: Buffer[] = [Buffer.from(before)];
  let bytes = parts[0]!.length;
  let isEmpty = true;
  for await (const chunk of chunksOf(rows)) {
    if (bytes >= CHUNK_BYTES) {
      written.sent += bytes;
      if (!res.write(Buffer.concat(parts))) await drained(res, stallMs);
      parts = [];
      bytes = 0;
    }
    const documents = joinInPlace(chunk);
    if (documents.length === 0) continue;
    if (isEmpty) documents[0] = OPEN_BRACKET;
    isEmpty = false;
    parts.push(documents);
    bytes += documents.length;
  }
  parts.push(Buffer.from(`${isEmpty ? '[]' : ']'}${after}`));
  const last = Buffer.concat(parts);
  written.sent += last.length;
  res.end(last);
  if (!res.writableFinished) await drained(res, stallMs);
}

/** The documents of a binary COPY. */
export async function* documentsIn(rows: Readable): AsyncGenerator<string> {
  for await (const chunk of chunksOf(rows))
    for (const [start, end] of spansIn(chunk)) yield chunk.toString('utf8', start, end);
}

/** A binary COPY begins with a signature, flags and the length of an extension. */
const COPY_HEADER_BYTES = 19;
/** Each row begins with its number of columns (2 bytes) and the length of its one document (4 bytes). */
const ROW_HEADER_BYTES = 6;

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

/** Overwrites a chunk with its documents, each after a comma. There is space, since a row's header is longer. */
function joinInPlace(chunk: Buffer): Buffer {
  let to = 0;
  for (const [start, end] of spansIn(chunk)) {
    chunk[to++] = COMMA;
    chunk.copyWithin(to, start, end);
    to += end - start;
  }
  return chunk.subarray(0, to);
}

/** Resolves when the client has read what was written. Throws ReaderGone. */
function drained(res: ServerResponse, stallMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (error?: Error) => {
      clearTimeout(timer);
      res.off('drain', read).off('finish', read).off('close', closed);
      if (error) reject(error);
      else resolve();
    };
    const read = () => done();
    const closed = () => done(res.writableFinished ? undefined : new ReaderGone('left'));
    const timer = setTimeout(() => done(new ReaderGone('stalled')), stallMs);
    res.on('drain', read).on('finish', read).on('close', closed);
    if (res.destroyed) closed();
  });
}
