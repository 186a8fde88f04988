import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Readable, type Transform } from 'node:stream';
import { invalidBody, payloadTooLarge } from '../errors/input-errors.js';
import { requestTimeout } from '../errors/request-errors.js';
import type { BodyCoding } from '../http/content-coding.js';
import type { Content } from '../http/request.js';
import { BodyAborted, type BodyLimits, type ReceivedBytes } from './arriving-body.js';
import { decompressor } from './codecs.js';

/** The limits and the state of a request whose body is a stream. */
export interface StreamOptions {
  readonly limits: Pick<BodyLimits, 'bodyMinRate' | 'bodyRateMs'>;
  readonly coding: BodyCoding | undefined;
  /** The body, if it was read before: for a signature. */
  readonly read: Buffer | undefined;
  /** Sends 100 Continue if the client waits for it. */
  readonly proceed: () => void;
  readonly progress: ReceivedBytes;
}

/** The content of a request that arrives. */
export class BodyStream implements Content {
  readonly #digest = createHash('sha256');
  #bytes = 0;
  #isOver = false;
  #chunks: AsyncGenerator<Buffer> | undefined;
  #decoder: Transform | undefined;
  /** Milliseconds that the action may still wait for the client, in all. */
  #patienceMs = Number.POSITIVE_INFINITY;

  constructor(
    readonly req: IncomingMessage,
    readonly options: StreamOptions,
  ) {}

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
    return this.#digest.copy().digest('base64url');
  }

  /** Discards what was not read: a paused parser would block the connection. */
  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#decoder?.destroy();
    if (this.options.read === undefined) this.req.unpipe().removeAllListeners('readable').resume();
  }

  /** Bytes that the request announces, if these are those of the body. */
  get #announced(): number | undefined {
    return this.options.coding === undefined ? Number(this.req.headers['content-length'] ?? 0) : undefined;
  }

  async *#readAll(): AsyncGenerator<Buffer> {
    const { coding, read, proceed } = this.options;
    if (read === undefined) proceed();
    if (this.req.destroyed && !this.req.complete) throw new BodyAborted();
    const source = read === undefined ? this.req : Readable.from([read]);
    const bytes = coding === undefined ? source : this.#decoded(source, coding);
    const iterator = bytes.iterator({ destroyOnReturn: false });
    const pace = new Pace(this.options);
    for (;;) {
      const { done, value } = await this.#next(iterator, pace).catch((error: unknown) => {
        throw this.#faultOf(error);
      });
      if (done) break;
      this.#bytes += value.length;
      if (read === undefined) this.options.progress.received = this.#bytes;
      this.#digest.update(value);
      yield value;
    }
    this.#isOver = true;
  }

  #decoded(source: Readable, coding: BodyCoding): Readable {
    const decoder = decompressor(coding);
    this.#decoder = decoder;
    // The iterator rejects with the error as well, but not after the action has stopped to read.
    decoder.on('error', () => undefined);
    const abort = () => {
      if (!source.readableEnded) decoder.destroy(new BodyAborted());
    };
    source.on('error', abort).once('close', abort);
    return source.pipe(decoder);
  }

  /** The next bytes. Rejects with 408 if the client sends too slowly, or if the action must not wait longer. */
  async #next(iterator: AsyncIterator<Buffer>, pace: Pace): Promise<IteratorResult<Buffer>> {
    const next = iterator.next();
    const began = performance.now();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const watch = () => {
        const waited = performance.now() - began;
        const ms = Math.min(this.#patienceMs - waited, pace.leftMs(waited));
        if (ms > 0) timer = ms === Number.POSITIVE_INFINITY ? undefined : setTimeout(check, ms);
        else reject(requestTimeout());
      };
      // setImmediate: bytes that have arrived are read before the time is measured.
      const check = () => setImmediate(watch);
      watch();
    });
    late.catch(() => undefined); // the race below rejects as well
    try {
      const result = await Promise.race([next, late]);
      const waited = performance.now() - began;
      this.#patienceMs -= waited;
      pace.add(waited, result.done ? 0 : result.value.length);
      return result;
    } catch (error) {
      next.catch(() => undefined);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  #faultOf(error: unknown): unknown {
    const { code = '' } = error as NodeJS.ErrnoException;
    const { coding } = this.options;
    if (coding !== undefined && /^(Z_|ERR_|ZSTD_)/.test(code) && !/MEM|ALLOC|STREAM/i.test(code))
      return invalidBody(`The body is not valid ${coding}.`, 'encoding');
    return this.req.complete || !this.req.destroyed ? error : new BodyAborted();
  }
}

/** The rate at which a client sends, while it is waited for. */
class Pace {
  #waitedMs = 0;
  #received = 0;

  constructor(readonly options: StreamOptions) {}

  /** Milliseconds that the client may still take for the next bytes, when it has taken so many. */
  leftMs(waited: number): number {
    const { bodyMinRate, bodyRateMs } = this.options.limits;
    if (bodyMinRate === 0) return Number.POSITIVE_INFINITY;
    return bodyRateMs + (this.#received * 1000) / bodyMinRate - this.#waitedMs - waited;
  }

  /** A fast beginning does not pay for a slow end. */
  add(waited: number, bytes: number): void {
    this.#waitedMs += waited;
    this.#received += bytes;
    if (this.#waitedMs < this.options.limits.bodyRateMs) return;
    this.#waitedMs = 0;
    this.#received = 0;
  }
}
