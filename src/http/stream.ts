import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { Reply } from './reply.js';

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
const NEWLINE = 0x0a;
const COMMA = 0x2c;
const CLOSE = 0x5d;

/**
 * Streams the lines of a COPY, each a JSON document, as one JSON array in constant memory: a chunk is read
 * only when the one before it went out. A reader that takes nothing for `stallMs` is cut off. Throws
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
  let parts: Buffer[] = [Buffer.from('[')];
  let bytes = 1;
  let any = false;
  // Left open on an error: whoever opened the rows ends them.
  for await (const lines of rows.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    if (bytes >= CHUNK_BYTES) {
      written.sent += bytes;
      if (!res.write(Buffer.concat(parts))) await drained(res, stallMs);
      parts = [];
      bytes = 0;
    }
    separate(lines);
    parts.push(lines);
    bytes += lines.length;
    any = true;
  }
  const last = Buffer.concat(any ? parts : [...parts, Buffer.from(',')]);
  last[last.length - 1] = CLOSE;
  written.sent += last.length;
  res.end(last);
  if (!res.writableFinished) await drained(res, stallMs);
}

/** Turns line ends into commas in place: a document has no line end of its own, a piece ends with a line. */
function separate(lines: Buffer): void {
  for (let at = lines.indexOf(NEWLINE); at >= 0; at = lines.indexOf(NEWLINE, at + 1)) lines[at] = COMMA;
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
