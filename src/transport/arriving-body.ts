import type { IncomingMessage, ServerResponse } from 'node:http';
import { tooManyOfAddress } from '../errors/caller-errors.js';
import { payloadTooLarge } from '../errors/input-errors.js';
import { requestTimeout } from '../errors/request-errors.js';
import { beyond } from '../errors/service-errors.js';
import { BODIES } from '../limits/byte-budget.js';
import { clientKey } from '../limits/client-key.js';
import { CountsByKey } from '../limits/counts-by-key.js';

/** The client disconnected while its body was read; there is no response. */
export class BodyAborted extends Error {}

export interface BodyLimits {
  /** Bytes of one body. */
  readonly bodyLimit: number;
  /** Bytes of all bodies that this process holds. */
  readonly bodyBytes: number;
  /** Bytes of incomplete bodies from one client address; 0: no limit. */
  readonly bodyBytesPerAddress: number;
  /** Bytes per second at which an incomplete body must arrive; 0: no limit. */
  readonly bodyMinRate: number;
  /** Milliseconds over which the rate is measured, again and again. */
  readonly bodyRateMs: number;
}

/** Bytes of the body that were received so far. */
export interface ReceivedBytes {
  received: number;
}

/** Bytes of incomplete bodies by client address (IPv6: by /64). */
const bytesByAddress = new CountsByKey();

const incomplete = new Set<IncompleteBody>();

export const NOTHING = Buffer.alloc(0);

/** Requests, in this process, that wait for the rest of their body. */
export const awaitedBodies = (): number => incomplete.size;

/**
 * Reads a body that has not arrived completely. Its bytes are held until the request is done. Until it is complete they
 * count against the limit of its address. `proceed` is called first. Rejects with 413, 429 and 503, with 408 when the
 * body arrives too slowly, and with BodyAborted.
 */
export async function collect(
  req: IncomingMessage,
  res: ServerResponse,
  limits: BodyLimits,
  address: string,
  proceed: () => void,
  progress: ReceivedBytes,
): Promise<Buffer> {
  const body = new IncompleteBody(req, limits, clientKey('address', address), progress);
  if (!body.fitsAddress(Number(req.headers['content-length'] ?? 0))) throw tooManyOfAddress();
  proceed();
  if (req.destroyed) throw new BodyAborted();
  return body.arrive(res);
}

class IncompleteBody {
  /** One buffer with room to grow: a body in chunks of one byte would otherwise occupy hundreds of bytes for each. */
  #bytes = NOTHING;
  #heldBytes = 0;
  #measuredAt = performance.now();
  #receivedBefore = 0;
  #reject: (problem: unknown) => void = () => undefined;

  constructor(
    readonly req: IncomingMessage,
    readonly limits: BodyLimits,
    readonly client: string,
    readonly progress: ReceivedBytes,
  ) {}

  /** Whether this many more bytes are within the limit of their address. */
  fitsAddress(bytes: number): boolean {
    const limit = this.limits.bodyBytesPerAddress;
    return limit === 0 || bytesByAddress.of(this.client) + bytes <= limit;
  }

  arrive(res: ServerResponse): Promise<Buffer> {
    const { req } = this;
    incomplete.add(this);
    // setImmediate: bytes that have arrived are read before the rate is measured.
    measuring ??= setInterval(() => setImmediate(measureAll), MEASURE_MS).unref();
    res.once('close', () => {
      this.#leave();
      BODIES.add(-this.#heldBytes);
    });
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      req.on('data', (chunk: Buffer) => this.#receive(chunk));
      req.once('end', () => {
        this.#leave();
        resolve(this.#bytes.subarray(0, this.#heldBytes));
      });
      const abort = (): void => {
        this.#leave();
        if (!req.complete) reject(new BodyAborted());
      };
      req.once('error', abort).once('close', abort);
    });
  }

  /** Refuses the body if it arrived too slowly since the last measurement: a fast beginning does not pay for a slow end. */
  measure(now: number): void {
    const elapsed = now - this.#measuredAt;
    if (elapsed < this.limits.bodyRateMs) return;
    const { received } = this.progress;
    if ((received - this.#receivedBefore) * 1000 < this.limits.bodyMinRate * elapsed)
      return this.#refuse(requestTimeout());
    this.#measuredAt = now;
    this.#receivedBefore = received;
  }

  #refuse(problem: unknown): void {
    this.#leave();
    this.#bytes = NOTHING;
    // The rest is discarded: a paused parser would block the connection.
    this.req.removeAllListeners('data').resume();
    this.#reject(problem);
  }

  #receive(chunk: Buffer): void {
    const { bodyLimit, bodyBytes } = this.limits;
    this.progress.received += chunk.length;
    if (this.progress.received > bodyLimit) return this.#refuse(payloadTooLarge(bodyLimit));
    if (!BODIES.fits(chunk.length, bodyBytes)) return this.#refuse(beyond('bodies'));
    if (!this.fitsAddress(chunk.length)) return this.#refuse(tooManyOfAddress());
    BODIES.add(chunk.length);
    bytesByAddress.add(this.client, chunk.length);
    this.#makeRoom(this.progress.received);
    chunk.copy(this.#bytes, this.#heldBytes);
    this.#heldBytes = this.progress.received;
  }

  #makeRoom(bytes: number): void {
    if (bytes <= this.#bytes.length) return;
    const announced = Number(this.req.headers['content-length'] ?? this.limits.bodyLimit);
    const larger = Buffer.allocUnsafeSlow(Math.max(bytes, Math.min(announced, bytes * 2)));
    this.#bytes.copy(larger, 0, 0, this.#heldBytes);
    this.#bytes = larger;
  }

  /** Releases its part of the address's limit, once. */
  #leave(): void {
    if (incomplete.delete(this)) bytesByAddress.add(this.client, -this.#heldBytes);
  }
}

/** Time between two measurements of all bodies. */
const MEASURE_MS = 250;
let measuring: NodeJS.Timeout | undefined;

function measureAll(): void {
  const now = performance.now();
  for (const body of incomplete) body.measure(now);
  if (incomplete.size > 0) return;
  clearInterval(measuring);
  measuring = undefined;
}
