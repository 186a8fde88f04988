import type { ServerResponse } from 'node:http';
import { RESPONSES } from '../limits/byte-budget.js';
import { type FeedContext, messageOf } from './cloudevents.js';
import type { Event } from './event.js';
import { admitsEvent, type Filter } from './event-filter.js';

/** The subscription of a client, and its end (milliseconds since 1970). */
export interface Subscription {
  readonly after: number;
  /** Whether it starts at the oldest retained event: events that expire before they are read are not missed. */
  readonly isOldest: boolean;
  readonly filter: Filter;
  readonly expiresAt: number;
}

/**
 * Why a stream ended: the client left, was too slow, its time was over, the events that it had yet to read have expired,
 * this process missed events, the credential is no longer valid, an internal error, or the service stops.
 */
export type EndReason = 'left' | 'slow' | 'over' | 'gone' | 'missed' | 'revoked' | 'fault' | 'stopped';

/** Bytes that one client may be behind, and that all responses of the process may occupy. */
export interface StreamLimits {
  readonly eventsBuffer: number;
  readonly responseBytes: number;
}

/** An open event stream of one client. */
export class SseConnection {
  readonly filter: Filter;
  readonly expiresAt: number;
  /** The last event that was written, or skipped. */
  position: number;
  /** Whether events may expire before they are written: none was, of those that were retained at the start. */
  mayExpire: boolean;
  endReason: EndReason = 'left';
  #heldBytes = 0;
  #writtenBytes = 0;
  #readBytesAtLastCheck = Number.NEGATIVE_INFINITY;

  constructor(
    readonly out: ServerResponse,
    { after, isOldest, filter, expiresAt }: Subscription,
    readonly limits: StreamLimits,
  ) {
    this.position = after;
    this.mayExpire = isOldest;
    this.filter = filter;
    this.expiresAt = expiresAt;
  }

  get isClosed(): boolean {
    return this.out.destroyed || this.out.writableEnded;
  }

  /** Writes to the client. Disconnects one that is too far behind, or behind at all while memory is scarce. */
  write(bytes: Buffer | string): void {
    const { out } = this;
    if (this.isClosed) return;
    const behind = out.writableLength;
    const isMemoryScarce = RESPONSES.held > this.limits.responseBytes;
    if (behind > this.limits.eventsBuffer || (behind > 0 && isMemoryScarce)) return this.end('slow');
    if (this.expiresAt <= Date.now()) return this.end('over');
    this.#writtenBytes += Buffer.byteLength(bytes);
    out.write(bytes, this.#noteMemory);
    this.#noteMemory();
  }

  /** Not at 'drain', which comes only after a write that was too much for the buffer. */
  readonly #noteMemory = (): void => {
    if (!this.isClosed) this.#hold(this.out.writableLength);
  };

  /** Ends the stream; the client reconnects. A slow client is disconnected, since it would not read the end either. */
  end(reason: EndReason): void {
    if (this.isClosed) return;
    this.endReason = reason;
    if (reason === 'slow') this.out.destroy();
    else this.out.end();
  }

  release(): void {
    this.#hold(0);
  }

  #hold(bytes: number): void {
    RESPONSES.add(bytes - this.#heldBytes);
    this.#heldBytes = bytes;
  }

  /** Whether the client read nothing since the last check, although there was something to read. */
  hasStalled(): boolean {
    const readBytes = this.#writtenBytes - this.out.writableLength;
    const hasStalled = this.out.writableLength > 0 && readBytes <= this.#readBytesAtLastCheck;
    this.#readBytesAtLastCheck = readBytes;
    return hasStalled;
  }

  /** The messages for those of the events that match the filter and come after the position. */
  textOf(events: readonly Event[], context: FeedContext): string {
    let text = '';
    for (const event of events)
      if (event.seq > this.position && admitsEvent(this.filter, event)) text += messageOf(event, context);
    return text;
  }
}
