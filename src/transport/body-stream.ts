import type { Hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { invalidBody, payloadTooLarge } from '../errors/input-errors.js';
import type { Problem } from '../errors/problem.js';
import { requestTimeout } from '../errors/request-errors.js';
import type { BodyCoding } from '../http/content-coding.js';
import type { Content } from '../http/request.js';
import { type Decompressor, decompressor } from './codecs.js';

/** The client disconnected while its body was read; there is no response. */
export class BodyAborted extends Error {}

/** Bytes of the body that were received so far. */
export interface ReceivedBytes {
  received: number;
}

/** The rate at which a client must send. */
export interface RateLimits {
  /** Bytes per second at which an incomplete body must arrive; 0: no limit. */
  readonly bodyMinRate: number;
  /** Milliseconds for which a client may send nothing at first, and twice as long when it has sent fast enough. */
  readonly bodyRateMs: number;
}

/** A body that arrives, or one that was read before and has a coding, or has a reader of streams. */
export interface BodySource {
  readonly limits: RateLimits;
  readonly coding: BodyCoding | undefined;
  /** The bytes, if they were read before. */
  readonly bytes?: Buffer | undefined;
  /** Sends 100 Continue if the client waits for it. */
  readonly proceed?: () => void;
  readonly progress?: ReceivedBytes;
  /** Receives all bytes for `digest`. */
  readonly hash?: Hash;
}

/** The bytes of a body without their coding, as fast as they are read. */
export class BodyStream implements Content {
  #bytes = 0;
  #isOver = false;
  #chunks: AsyncGenerator<Buffer> | undefined;
  #decoder: Decompressor | undefined;
  /** Bytes in the coding. */
  #sent = 0;
  /** Milliseconds that the action may still wait for the client, in all. */
  #patienceMs = Number.POSITIVE_INFINITY;
  /** Milliseconds that the client may still make the action wait. Bytes that arrive add to them. */
  #leftMs: number;

  constructor(
    readonly req: IncomingMessage,
    readonly source: BodySource,
  ) {
    this.#leftMs = source.limits.bodyRateMs;
  }

  waitAtMost(ms: number): void {
    this.#patienceMs = ms;
  }

  read(maxBytes: number): AsyncGenerator<Buffer> {
    this.#chunks ??= this.#readAll();
    const chunks = this.#chunks;
    const isTooLong = () => this.#bytes > maxBytes || (this.#announced ?? 0) > maxBytes;
    return (async function* () {
      for (;;) {
        if (isTooLong()) throw payloadTooLarge(maxBytes);
        const { done, value } = await chunks.next();
        if (done) return;
        if (isTooLong()) throw payloadTooLarge(maxBytes);
        yield value;
      }
    })();
  }

  async digest(maxBytes: number): Promise<string> {
    for await (const _ of this.read(maxBytes));
    return this.source.hash!.copy().digest('base64url');
  }

  /** Discards what was not read: a paused parser would block the connection. */
  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#decoder?.destroy();
    this.req.unpipe().removeAllListeners('readable').removeAllListeners('data').resume();
  }

  /** Bytes that the request announces, if these are those of the body. */
  get #announced(): number | undefined {
    return this.source.coding === undefined ? Number(this.req.headers['content-length'] ?? 0) : undefined;
  }

  async *#readAll(): AsyncGenerator<Buffer> {
    const { coding, bytes, proceed, progress, hash } = this.source;
    proceed?.();
    if (this.req.destroyed && !this.req.complete) throw new BodyAborted();
    const sent = bytes === undefined ? this.req : Readable.from([bytes]);
    const iterator = (coding === undefined ? sent : this.#decoded(sent, coding)).iterator({
      destroyOnReturn: false,
    });
    for (;;) {
      const { done, value } = await this.#next(iterator).catch((error: unknown) => {
        throw this.#faultOf(error);
      });
      if (done) break;
      this.#bytes += value.length;
      if (progress) progress.received = this.#bytes;
      hash?.update(value);
      yield value;
    }
    // A decoder ends at the end of its data, whatever follows.
    if (this.#decoder && (this.#decoder.bytesWritten < this.#sent || !sent.readableEnded))
      throw this.#invalid();
    this.#isOver = true;
  }

  #decoded(source: Readable, coding: BodyCoding): Readable {
    const decoder = decompressor[coding]();
    this.#decoder = decoder;
    // The iterator rejects with the error as well, but not after the action has stopped to read.
    decoder.on('error', () => undefined);
    const abort = () => {
      if (!source.readableEnded) decoder.destroy(new BodyAborted());
    };
    source.on('error', abort).once('close', abort);
    source.on('data', (chunk: Buffer) => {
      this.#sent += chunk.length;
    });
    return source.pipe(decoder);
  }

  /** The next bytes. Rejects with 408 if the client sends too slowly, or if the action must not wait longer. */
  async #next(iterator: AsyncIterator<Buffer>): Promise<IteratorResult<Buffer>> {
    const { bodyMinRate, bodyRateMs } = this.source.limits;
    const hasRate = bodyMinRate > 0 && !this.req.complete;
    const maxMs = hasRate ? Math.min(this.#patienceMs, this.#leftMs) : this.#patienceMs;
    const since = performance.now();
    let timer: NodeJS.Timeout | undefined;
    let isOver = false;
    const late = new Promise<never>((_, reject) => {
      const watch = (): void => {
        const ms = maxMs - (performance.now() - since);
        if (isOver || ms === Number.POSITIVE_INFINITY) return;
        if (ms <= 0) return reject(requestTimeout());
        // setImmediate: bytes that have arrived are read before the time is measured.
        timer = setTimeout(() => setImmediate(watch), ms);
      };
      watch();
    });
    const result = await Promise.race([iterator.next(), late]).finally(() => {
      isOver = true;
      clearTimeout(timer);
      this.#patienceMs -= performance.now() - since;
      this.#leftMs -= performance.now() - since;
    });
    // A fast beginning does not pay for a slow end.
    if (hasRate && !result.done)
      this.#leftMs = Math.min(2 * bodyRateMs, this.#leftMs + (result.value.length * 1000) / bodyMinRate);
    return result;
  }

  #faultOf(error: unknown): unknown {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (this.#decoder && /^(Z_|ERR_|ZSTD_)/.test(code) && !/MEM|ALLOC|STREAM/i.test(code))
      return this.#invalid();
    return this.req.complete || !this.req.destroyed ? error : new BodyAborted();
  }

  #invalid(): Problem {
    return invalidBody(`The body is not valid ${this.source.coding}.`, 'encoding');
  }
}
