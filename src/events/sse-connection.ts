import type { ServerResponse } from 'node:http';
import { heldResponseBytes, ResponseHold } from '../limits/response-memory.js';
import { messageOf } from './cloudevents.js';
import type { Event } from './event.js';
import { admits, type Filter } from './filter.js';

/** What a reader follows: from where, what, and until when at the latest (milliseconds since 1970). */
export interface Following {
  readonly after: number;
  readonly filter: Filter;
  readonly expiresAt: number;
}

/**
 * Why a stream ended: its reader left or was too slow, its time was over, what it has yet to read is no longer kept, the
 * listener missed something, its credential is no longer valid, we failed, or the service stops.
 */
export type End = 'left' | 'slow' | 'over' | 'gone' | 'missed' | 'revoked' | 'fault' | 'stopped';

/** One reader and how far it is. */
export interface Stream extends Omit<Following, 'after'> {
  readonly out: ServerResponse;
  /** The last event that was written, or passed over. */
  seq: number;
  /** Follows the tail; before, it reads what it has missed by itself. */
  live: boolean;
  /** Bytes that were written to it, and that its connection had taken at the last heartbeat. */
  written: number;
  taken: number;
  /** What its connection has yet to take. */
  readonly memory: ResponseHold;
  /** Why it is being ended. */
  end: End;
}

/** Bytes that one reader may be behind, and those of all responses that the process may hold. */
export interface StreamLimits {
  readonly eventsBuffer: number;
  readonly responseBytes: number;
}

export function streamOf(out: ServerResponse, { after, ...following }: Following): Stream {
  return {
    out,
    ...following,
    seq: after,
    live: false,
    written: 0,
    taken: Number.NEGATIVE_INFINITY,
    memory: new ResponseHold(),
    end: 'left',
  };
}

/** A reader that is too far behind is cut, and so is any that is behind while the process holds too much. */
export function write(stream: Stream, bytes: Buffer | string, limits: StreamLimits): void {
  const { out, expiresAt, memory } = stream;
  if (out.destroyed || out.writableEnded) return;
  const behind = out.writableLength;
  if (behind > limits.eventsBuffer || (behind > 0 && heldResponseBytes() > limits.responseBytes))
    return end(stream, 'slow');
  if (expiresAt <= Date.now()) return end(stream, 'over');
  stream.written += Buffer.byteLength(bytes);
  out.write(bytes);
  if (behind === 0 && out.writableLength > 0) out.once('drain', () => memory.release());
  memory.set(out.writableLength);
}

/** Its reader comes again; one that is too slow would not even take the end. */
export function end(stream: Stream, why: End): void {
  const { out } = stream;
  if (out.destroyed || out.writableEnded) return;
  stream.end = why;
  if (why === 'slow') out.destroy();
  else out.end();
}

/** Whether its connection took nothing since this was asked the last time, though there was something to take. */
export function tookNothing(stream: Stream): boolean {
  const { out } = stream;
  const taken = stream.written - out.writableLength;
  const nothing = out.writableLength > 0 && taken <= stream.taken;
  stream.taken = taken;
  return nothing;
}

/** What of these events its reader asked for and has not had. */
export function textOf(events: readonly Event[], { filter, seq }: Stream, source: string): string {
  let text = '';
  for (const event of events) if (event.seq > seq && admits(filter, event)) text += messageOf(event, source);
  return text;
}
