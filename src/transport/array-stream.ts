import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { Reply } from '../http/reply.js';

/** The client left or stopped reading: there is nobody to answer. */
export class ReaderGone extends Error {
  constructor(readonly how: 'left' | 'stalled') {
    super(`the reader ${how}`);
  }
}

/** Bytes that were written, counted as they are. */
export interface Written {
  sent: number;
}

/** What is put together before it is written: small enough for memory, large enough for few writes. */
const CHUNK_BYTES = 65_536;
const OPEN = 0x5b;
const COMMA = 0x2c;

/**
 * Streams the rows of a COPY in the binary format, each one JSON document, as one JSON array in constant memory: a
 * chunk is read only when the one before it went out. A reader that takes nothing for `stallMs` is cut off. Throws
 * ReaderGone for that, and the database's error when it fails half way: then the connection is aborted by
 * the caller, and the array never closed.
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
  let from = HEADER_BYTES;
  let any = false;
  // Left open on an error: whoever opened the rows ends them.
  for await (const piece of rows.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    if (bytes >= CHUNK_BYTES) {
      written.sent += bytes;
      if (!res.write(Buffer.concat(parts))) await drained(res, stallMs);
      parts = [];
      bytes = 0;
    }
    const documents = splice(piece, from);
    from = 0;
    if (documents.length === 0) continue;
    if (!any) documents[0] = OPEN;
    any = true;
    parts.push(documents);
    bytes += documents.length;
  }
  parts.push(Buffer.from(`${any ? ']' : '[]'}${after}`));
  const last = Buffer.concat(parts);
  written.sent += last.length;
  res.end(last);
  if (!res.writableFinished) await drained(res, stallMs);
}

/** What COPY in the binary format begins with, in the first piece: a signature, flags, the length of an extension. */
const HEADER_BYTES = 19;
/** Before a row's one document: the number of its columns (2 bytes) and its length. */
const ROW_BYTES = 6;

/** The documents of a COPY in the binary format, one by one. */
export async function* documentsIn(rows: Readable): AsyncGenerator<string> {
  let from = HEADER_BYTES;
  for await (const piece of rows.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    for (const [start, end] of spansIn(piece, from)) yield piece.toString('utf8', start, end);
    from = 0;
  }
}

/** Where the documents of a piece begin and end. Throws when it has a part of a row. */
function* spansIn(piece: Buffer, from: number): Generator<readonly [start: number, end: number]> {
  for (let at = from; at < piece.length; ) {
    // Less than none: the end.
    if (piece.readInt16BE(at) < 0) return;
    const start = at + ROW_BYTES;
    at = start + piece.readInt32BE(at + 2);
    if (at > piece.length) throw new Error('COPY gave half a row');
    yield [start, at];
  }
}

/** The documents of a piece, a comma before each: put together in place, where each loses its row's head. */
function splice(piece: Buffer, from: number): Buffer {
  let to = 0;
  for (let at = from; at < piece.length; ) {
    // Less than none: the end.
    if (piece.readInt16BE(at) < 0) break;
    const start = at + ROW_BYTES;
    at = start + piece.readInt32BE(at + 2);
    if (at > piece.length) throw new Error('COPY gave half a row');
    piece[to++] = COMMA;
    piece.copyWithin(to, start, at);
    to += at - start;
  }
  return piece.subarray(0, to);
}

/** Resolves when the reader has taken what was written; throws ReaderGone when it left or stalls. */
function drained(res: ServerResponse, stallMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (error?: Error) => {
      clearTimeout(stalled);
      res.off('drain', taken).off('finish', taken).off('close', left);
      if (error) reject(error);
      else resolve();
    };
    const taken = () => done();
    const left = () => done(res.writableFinished ? undefined : new ReaderGone('left'));
    const stalled = setTimeout(() => done(new ReaderGone('stalled')), stallMs);
    res.on('drain', taken).on('finish', taken).on('close', left);
    if (res.destroyed) left();
  });
}
