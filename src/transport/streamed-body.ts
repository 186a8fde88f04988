import type { ServerResponse } from 'node:http';
import type { Transform, Writable } from 'node:stream';
import type { Coding } from '../http/content-coding.js';
import { compressor } from './codecs.js';

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
 * A body of unknown length, compressed if there is a coding. A write resolves when the client has read enough for the
 * next one, and rejects with ReaderGone if it disconnects or reads nothing for `stallMs`.
 */
export class StreamedBody {
  readonly #compressor: Transform | undefined;
  #failure: Error | undefined;
  /** Ends a write whose client reads nothing. */
  #stall: NodeJS.Timeout | undefined;

  constructor(
    readonly res: ServerResponse,
    readonly stallMs: number,
    readonly written: Written,
    coding: Coding | undefined,
  ) {
    this.#compressor = coding && compressor(coding);
  }

  /** Writes the head. Throws ReaderGone. */
  begin(status: number, headers: readonly string[]): void {
    const { res } = this;
    if (res.destroyed) throw new ReaderGone('left');
    res.writeHead(status, headers as never);
    if (this.#compressor) this.#forward(this.#compressor);
  }

  async write(bytes: Buffer): Promise<void> {
    if (!this.#compressor) this.written.sent += bytes.length;
    const out = this.#compressor ?? this.res;
    if (!out.write(bytes)) await this.#drained(out);
  }

  async end(bytes: Buffer): Promise<void> {
    if (!this.#compressor) this.written.sent += bytes.length;
    (this.#compressor ?? this.res).end(bytes);
    if (!this.res.writableFinished) await this.#drained(undefined);
  }

  /** Releases the memory of the compression; to be called once, also after a failure. */
  close(): void {
    this.#compressor?.destroy();
  }

  /** Passes what was compressed to the client, as fast as it reads. */
  #forward(compressor: Transform): void {
    const { res, written } = this;
    const resume = () => compressor.resume();
    compressor.on('data', (bytes: Buffer) => {
      written.sent += bytes.length;
      // The time that compression takes is not the client's.
      this.#stall?.refresh();
      if (res.write(bytes)) return;
      compressor.pause();
      res.once('drain', resume);
    });
    compressor.once('end', () => res.end());
    compressor.once('error', (error) => {
      this.#failure = error;
      res.destroy();
    });
  }

  /** Resolves when `out` accepts more, or when the client has read everything. */
  #drained(out: Writable | undefined): Promise<void> {
    const { res, stallMs } = this;
    return new Promise((resolve, reject) => {
      const done = (error?: Error) => {
        clearTimeout(this.#stall);
        this.#stall = undefined;
        out?.off('drain', read);
        res.off('finish', read).off('close', closed);
        if (error) reject(error);
        else resolve();
      };
      const read = () => done();
      const closed = () => done(res.writableFinished ? undefined : (this.#failure ?? new ReaderGone('left')));
      this.#stall = setTimeout(() => done(new ReaderGone('stalled')), stallMs);
      out?.on('drain', read);
      res.on('finish', read).on('close', closed);
      if (res.destroyed) closed();
    });
  }
}
