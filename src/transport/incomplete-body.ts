import type { IncomingMessage, ServerResponse } from 'node:http';
import { requestTimeout, tooManyOfAddress, unavailable } from '../errors.js';
import { payloadTooLarge } from '../limit-errors.js';
import { clientKey } from '../limits/client-key.js';

/** The client went away while its body was read: there is nobody to answer. */
export class BodyAborted extends Error {}

export interface BodyLimits {
  /** Bytes of one body. */
  readonly bodyLimit: number;
  /** Bytes of all that this process holds. */
  readonly bodyBytes: number;
  /** Bytes of incomplete bodies from one client address; 0: any number. */
  readonly bodyBytesPerAddress: number;
  /** Bytes a second that an incomplete body has to bring; 0: any rate. */
  readonly bodyMinRate: number;
  /** The rate applies to each such period, in milliseconds. */
  readonly bodyRateMs: number;
}

/** Bytes that were read, added up as they come. */
export interface Read {
  received: number;
}

/** Bytes of bodies, in this process, whose requests are not done. */
export const heldBodies = { bytes: 0 };

export const tooManyBytes = () => unavailable('Too many bodies are being read.');

/** Bytes of incomplete bodies, by client address (of IPv6 by /64); an address without any has no entry. */
const ofAddress = new Map<string, number>();

const incomplete = new Set<IncompleteBody>();

/** Requests, in this process, that wait for their clients to send the rest of a body. */
export const awaitedBodies = (): number => incomplete.size;

/**
 * Reads a body that has not arrived whole. Its bytes are held until the request is done, and belong to the share of
 * its address until it is complete. `proceed` is called before the first is waited for. Rejects with 413, 429 and 503,
 * with 408 when it comes too slowly, and with BodyAborted.
 */
export async function collect(
  req: IncomingMessage,
  res: ServerResponse,
  limits: BodyLimits,
  address: string,
  proceed: () => void,
  read: Read,
): Promise<Buffer> {
  const body = new IncompleteBody(req, limits, clientKey('address', address), read);
  if (!body.hasShare(Number(req.headers['content-length'] ?? 0))) throw tooManyOfAddress();
  proceed();
  if (req.destroyed) throw new BodyAborted();
  return body.arrive(res);
}

class IncompleteBody {
  readonly #chunks: Buffer[] = [];
  #kept = 0;
  #since = performance.now();
  #receivedBefore = 0;
  #refuse: (problem: unknown) => void = () => undefined;

  constructor(
    readonly req: IncomingMessage,
    readonly limits: BodyLimits,
    readonly client: string,
    readonly read: Read,
  ) {}

  /** Whether so many bytes more are within the share of their address. */
  hasShare(bytes: number): boolean {
    const share = this.limits.bodyBytesPerAddress;
    return share === 0 || (ofAddress.get(this.client) ?? 0) + bytes <= share;
  }

  arrive(res: ServerResponse): Promise<Buffer> {
    const { req } = this;
    begin(this);
    res.once('close', () => {
      this.#leave();
      heldBodies.bytes -= this.#kept;
    });
    return new Promise((resolve, reject) => {
      this.#refuse = reject;
      req.on('data', (chunk: Buffer) => this.#take(chunk));
      req.once('end', () => {
        this.#leave();
        resolve(this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks));
      });
      const abort = (): void => {
        this.#leave();
        // An error that nobody needs is not made: it would cost as much as reading the body.
        if (!req.complete) reject(new BodyAborted());
      };
      req.once('error', abort).once('close', abort);
    });
  }

  /**
   * Refuses it when it came too slowly since the last time. Each period is measured by itself, so that a fast beginning
   * does not pay for a body that then trickles.
   */
  measure(now: number): void {
    const elapsed = now - this.#since;
    if (elapsed < this.limits.bodyRateMs) return;
    const { received } = this.read;
    if ((received - this.#receivedBefore) * 1000 < this.limits.bodyMinRate * elapsed)
      return this.refuse(requestTimeout());
    this.#since = now;
    this.#receivedBefore = received;
  }

  refuse(problem: unknown): void {
    this.#leave();
    this.#chunks.length = 0;
    // The rest is let through unread: a stopped parser would stop the connection with it.
    this.req.removeAllListeners('data').resume();
    this.#refuse(problem);
  }

  #take(chunk: Buffer): void {
    const { bodyLimit, bodyBytes } = this.limits;
    this.read.received += chunk.length;
    if (this.read.received > bodyLimit) return this.refuse(payloadTooLarge(bodyLimit));
    if (heldBodies.bytes + chunk.length > bodyBytes) return this.refuse(tooManyBytes());
    if (!this.hasShare(chunk.length)) return this.refuse(tooManyOfAddress());
    heldBodies.bytes += chunk.length;
    ofAddress.set(this.client, (ofAddress.get(this.client) ?? 0) + chunk.length);
    this.#kept = this.read.received;
    this.#chunks.push(chunk);
  }

  /** Gives its share back, once. */
  #leave(): void {
    if (!end(this)) return;
    const left = (ofAddress.get(this.client) ?? 0) - this.#kept;
    if (left > 0) ofAddress.set(this.client, left);
    else ofAddress.delete(this.client);
  }
}

/** Between two looks at the rates of all: a slow sender is found so much later. */
const MEASURE_MS = 250;
let measuring: NodeJS.Timeout | undefined;

function begin(body: IncompleteBody): void {
  incomplete.add(body);
  // What has arrived is read before it is measured.
  measuring ??= setInterval(() => setImmediate(measureAll), MEASURE_MS).unref();
}

function end(body: IncompleteBody): boolean {
  return incomplete.delete(body);
}

function measureAll(): void {
  const now = performance.now();
  for (const body of incomplete) body.measure(now);
  if (incomplete.size > 0) return;
  clearInterval(measuring);
  measuring = undefined;
}
