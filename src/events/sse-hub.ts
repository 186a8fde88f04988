import type { ServerResponse } from 'node:http';
import type { Run } from '../db/db.js';
import { problemOf } from '../db/sqlstate.js';
import type { EventMetrics } from '../telemetry/event-metrics.js';
import type { Log } from '../telemetry/log.js';
import { cursorOf } from './cursor.js';
import type { Event } from './event.js';
import type { FeedFollower } from './follower.js';
import { readEvents } from './outbox.js';
import {
  type End,
  end,
  type Following,
  type Stream,
  type StreamLimits,
  streamOf,
  textOf,
  tookNothing,
  write,
} from './sse-connection.js';
import type { StreamSlot } from './stream-limits.js';

export interface StreamSettings extends StreamLimits {
  readonly source: string;
  readonly eventsStreamMs: number;
  readonly eventsHeartbeatMs: number;
}

/** The event streams of a process. */
export interface Streams {
  /**
   * Writes what follows into a response until its reader leaves or is too slow, its credential is no longer valid, or
   * the time is over. Then it gives the place back.
   */
  open(out: ServerResponse, following: Following, place: StreamSlot): void;
  /** Places that are taken. */
  size(): number;
  isClosed(): boolean;
  /** Ends all of them; each reader comes again, elsewhere. */
  close(): void;
}

/** Milliseconds after which a reader that lost its stream should come again. */
const RETRY = 'retry: 2000\n\n';
/** Streams that read at once what they have missed, and how many events at a time. */
const CATCHING_UP = 4;
const PAGE = 500;

export function openStreams(
  run: Run,
  follower: FeedFollower,
  log: Log,
  settings: StreamSettings,
  { readers, ended }: EventMetrics,
): Streams {
  const { source, eventsStreamMs, eventsHeartbeatMs } = settings;
  const open = new Set<Stream>();
  const behind: Stream[] = [];
  let reading = 0;
  let closed = false;
  let unfollow: (() => void) | undefined;

  /** Those who are at the same place and ask for the same share the bytes. */
  function onEvents(events: readonly Event[]): void {
    const last = events.at(-1)?.seq ?? 0;
    const texts = new Map<string, Buffer>();
    for (const stream of open) {
      if (!stream.live || stream.seq >= last) continue;
      const key = `${stream.seq < events[0]!.seq ? 0 : stream.seq}${stream.filter.key}`;
      const bytes = texts.get(key) ?? Buffer.from(textOf(events, stream, source));
      texts.set(key, bytes);
      stream.seq = last;
      if (bytes.length > 0) write(stream, bytes, settings);
    }
  }

  const endAll = (why: End): void => {
    for (const stream of open) end(stream, why);
  };

  /** Reads for streams that are behind, the one that waits longest first, until each is where the tail is. */
  async function catchUp(): Promise<void> {
    reading++;
    for (let stream = behind.shift(); stream; stream = behind.shift()) {
      try {
        await advance(stream);
      } catch (err) {
        // The tail tells when the database is away; all else is a fault of ours. The reader comes again.
        if (!problemOf(err)) log.error({ err }, 'an event stream could not be read on');
        end(stream, 'fault');
      }
    }
    reading--;
  }

  async function advance(stream: Stream): Promise<void> {
    const { out, filter } = stream;
    if (out.destroyed || out.writableEnded) return;
    if (stream.seq >= follower.position()) {
      stream.live = true;
      return;
    }
    const horizon = follower.position();
    const { events, until, floor } = await readEvents(run, {
      after: stream.seq,
      horizon,
      limit: PAGE,
      filter,
    });
    if (stream.seq < floor) return end(stream, 'gone');
    const text = textOf(events, stream, source);
    stream.seq = until;
    if (text !== '') write(stream, text, settings);
    if (out.writableNeedDrain) out.once('drain', () => queue(stream));
    else queue(stream);
  }

  function queue(stream: Stream): void {
    behind.push(stream);
    if (reading < CATCHING_UP) void catchUp();
  }

  /** Tells each reader where it is, and cuts those that took nothing since the last time. */
  function beat(): void {
    for (const stream of open) {
      const { live, seq } = stream;
      if (tookNothing(stream)) end(stream, 'slow');
      const text = live ? `:\nid: ${cursorOf(Math.max(seq, follower.position()))}\n\n` : ':\n\n';
      write(stream, text, settings);
    }
  }

  const heartbeat = setInterval(beat, eventsHeartbeatMs).unref();

  return {
    open: (out, { after, filter, expiresAt }, place) => {
      // Not all at the same moment: they come again at once.
      const until = Date.now() + eventsStreamMs * (0.9 + Math.random() / 10);
      const stream = streamOf(out, { after, filter, expiresAt: Math.min(expiresAt, until) });
      const { socket } = out.req;
      // A client that closes its sending half has most likely left.
      const left = () => end(stream, 'left');
      const revoke = () => end(stream, 'revoked');
      const leave = () => {
        socket.off('end', left);
        place.invalid.removeEventListener('abort', revoke);
        open.delete(stream);
        stream.memory.release();
        ended.of(stream.end).value++;
        place.leave();
        if (open.size > 0) return;
        unfollow?.();
        unfollow = undefined;
      };
      if (out.destroyed) return place.leave();
      out.once('close', leave);
      socket.once('end', left);
      out.on('error', () => out.destroy());
      if (closed || socket.readableEnded) {
        if (closed) stream.end = 'stopped';
        return void out.end(RETRY);
      }
      open.add(stream);
      unfollow ??= follower.follow({ onEvents, onMissed: () => endAll('missed') });
      out.write(RETRY);
      place.invalid.addEventListener('abort', revoke);
      if (place.invalid.aborted) return revoke();
      queue(stream);
    },
    size: () => readers.value,
    isClosed: () => closed,
    close: () => {
      closed = true;
      clearInterval(heartbeat);
      endAll('stopped');
    },
  };
}
