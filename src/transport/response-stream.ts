import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Transform, Writable } from 'node:stream';
import type { Coding } from '../http/content-coding.js';
import type { Reply } from '../http/reply.js';
import { compressor } from './codecs.js';
import { hasStalled } from './stale-connections.js';

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

/**
 * Sends a response whose body is not in memory, compressed if there is a coding. The next chunk is read when the client has read
 * enough of those before it, and the head is made with the first one: a failure until then has a response of its own. Rejects
 * with ReaderGone if the client disconnects, or if closeStaleConnections disconnects it.
 */
export async function sendStream(
  res: ServerResponse,
  headOf: () => Pick<Reply, 'status' | 'headers'>,
  chunks: AsyncIterable<Buffer | string> | Iterable<Buffer>,
  written: Written,
  coding?: Coding,
): Promise<void> {
  const stream = new ResponseStream(res, written, coding);
  try {
    for await (const chunk of chunks) {
      stream.begin(headOf);
      await stream.write(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
    }
    stream.begin(headOf);
    await stream.end();
  } finally {
    stream.close();
  }
}

class ResponseStream {
  readonly #compressor: Transform | undefined;
  readonly #socket: Socket | null;
  #failure: Error | undefined;

  constructor(
    readonly res: ServerResponse,
    readonly written: Written,
    coding: Coding | undefined,
  ) {
    this.#compressor = coding && compressor[coding]();
    // A response that has ended has no socket any more.
    this.#socket = res.socket;
  }

  /** Writes the head, once. Throws ReaderGone. */
  begin(headOf: () => Pick<Reply, 'status' | 'headers'>): void {
    const { res } = this;
    if (res.destroyed) throw this.#readerGone();
    if (res.headersSent) return;
    const { status, headers } = headOf();
    res.writeHead(status, headers as never);
    if (this.#compressor) this.#forward(this.#compressor);
  }

  async write(bytes: Buffer): Promise<void> {
    if (!this.#compressor) this.written.sent += bytes.length;
    const out = this.#compressor ?? this.res;
    if (!out.write(bytes)) await this.#drained(out);
  }

  async end(): Promise<void> {
    (this.#compressor ?? this.res).end();
    if (!this.res.writableFinished) await this.#drained(undefined);
  }

  /** Releases the memory of the compression. */
  close(): void {
    this.#compressor?.destroy();
  }

  /** Passes what was compressed to the client, as fast as it reads. */
  #forward(compressor: Transform): void {
    const { res, written } = this;
    const resume = () => compressor.resume();
    compressor.on('data', (bytes: Buffer) => {
      written.sent += bytes.length;
      if (res.write(bytes)) return;
      compressor.pause();
      res.once('drain', resume);
    });
    compressor.once('end', () => res.end());
    compressor.on('error', (error) => {
      this.#failure = error;
      res.destroy();
    });
  }

  /** Resolves when `out` accepts more, or when the client has read everything. */
  #drained(out: Writable | undefined): Promise<void> {
    const { res } = this;
    return new Promise((resolve, reject) => {
      const done = (error?: Error) => {
        out?.off('drain', read);
        res.off('finish', read).off('close', closed);
        if (error) reject(error);
        else resolve();
      };
      const read = () => done();
      const closed = () => done(res.writableFinished ? undefined : (this.#failure ?? this.#readerGone()));
      out?.on('drain', read);
      res.on('finish', read).on('close', closed);
      if (res.destroyed) closed();
    });
  }

  #readerGone(): ReaderGone {
    return new ReaderGone(this.#socket && hasStalled(this.#socket) ? 'stalled' : 'left');
  }
}
