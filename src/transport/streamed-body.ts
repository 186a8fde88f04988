import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Transform, Writable } from 'node:stream';
import type { Coding } from '../http/content-coding.js';
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
 * A body of unknown length, compressed if there is a coding. A write resolves when the client has read enough for the
 * next one, and rejects with ReaderGone if it disconnects, or if closeStaleConnections disconnects it.
 */
export class StreamedBody {
  readonly #compressor: Transform | undefined;
  readonly #socket: Socket | null;
  #failure: Error | undefined;

  constructor(
    readonly res: ServerResponse,
    readonly written: Written,
    coding: Coding | undefined,
  ) {
    this.#compressor = coding && compressor(coding);
    // A response that has ended has no socket any more.
    this.#socket = res.socket;
  }

  /** Writes the head. Throws ReaderGone. */
  begin(status: number, headers: readonly string[]): void {
    const { res } = this;
    if (res.destroyed) throw this.#readerGone();
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
