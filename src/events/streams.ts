import type { ServerResponse } from 'node:http';
import type { Run } from '../db/connect.js';
import { problemOf } from '../db/sqlstate.js';
import { unavailable } from '../errors.js';
import type { Log } from '../log.js';
import { cursorOf } from './cursor.js';
import { messageOf } from './envelope.js';
import type { Event } from './event.js';
import { admits, type Filter } from './filter.js';
import { readEvents } from './outbox.js';
import type { Tail } from './tail.js';

export interface StreamSettings {
  readonly source: string;
  readonly eventsStreams: number;
  readonly eventsStreamMs: number;
  readonly eventsHeartbeatMs: number;
  readonly eventsBuffer: number;
}

/** What a reader follows: from where, what, and until when at the latest (milliseconds since 1970). */
export interface Following {
  readonly after: number;
  readonly filter: Filter;
  readonly expiresAt: number;
}

/** The event streams of a process. */
export interface Streams {
  /** Takes a place among those who read, for the function that frees it. Throws 503 when all are taken. */
  admit(): () => void;
  /** Writes what follows into an answer until its reader leaves, or is too slow, or the time is over. */
  open(out: ServerResponse, following: Following, free: () => void): void;
  /** Places that are taken. */
  size(): number;
  isClosed(): boolean;
  /** Ends all of them; each reader comes again, elsewhere. */
  close(): void;
}

interface Stream extends Omit<Following, 'after'> {
  readonly out: ServerResponse;
  /** The last event that was written, or passed over. */
  seq: number;
  /** Follows the tail; before, it reads what it has missed by itself. */
  live: boolean;
  /** Bytes that were written to it, and that its connection had taken at the last heartbeat. */
  written: number;
  taken: number;
}

/** Milliseconds after which a reader that lost its stream should come again. */
const RETRY = 'retry: 2000\n\n';
/** Streams that read at once what they have missed, and how many events at a time. */
const CATCHING_UP = 4;
const PAGE = 500;

export function openStreams(run: Run, tail: Tail, log: Log, settings: StreamSettings): Streams {
  const { source, eventsStreams, eventsStreamMs, eventsHeartbeatMs, eventsBuffer } = settings;
  const open = new Set<Stream>();
  const behind: Stream[] = [];
  let places = 0;
  let reading = 0;
  let closed = false;
  let unfollow: (() => void) | undefined;

  /** A reader that has not taken what it was sent before is cut: it comes again with the last id it has seen. */
  function write(stream: Stream, bytes: Buffer | string): void {
    const { out, expiresAt } = stream;
    if (out.destroyed || out.writableEnded) return;
    if (out.writableLength > eventsBuffer) return void out.destroy();
    if (expiresAt <= Date.now()) return void out.end();
    stream.written += Buffer.byteLength(bytes);
    out.write(bytes);
  }

  const textOf = (events: readonly Event[], { filter, seq }: Stream): string => {
    let text = '';
    for (const event of events)
      if (event.seq > seq && admits(filter, event)) text += messageOf(event, source);
    return text;
  };

  /** Those who are at the same place and ask for the same share the bytes. */
  function onEvents(events: readonly Event[]): void {
    const last = events.at(-1)?.seq ?? 0;
    const texts = new Map<string, Buffer>();
    for (const stream of open) {
      if (!stream.live || stream.seq >= last) continue;
      const key = `${stream.seq < events[0]!.seq ? 0 : stream.seq}${stream.filter.key}`;
      const bytes = texts.get(key) ?? Buffer.from(textOf(events, stream));
      texts.set(key, bytes);
      stream.seq = last;
      if (bytes.length > 0) write(stream, bytes);
    }
  }

  const endAll = (): void => {
    for (const { out } of open) out.end();
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
        stream.out.end();
      }
    }
    reading--;
  }

  async function advance(stream: Stream): Promise<void> {
    const { out, filter } = stream;
    if (out.destroyed || out.writableEnded) return;
    if (stream.seq >= tail.position()) {
      stream.live = true;
      return;
    }
    const horizon = tail.position();
    const { events, until, floor } = await readEvents(run, {
      after: stream.seq,
      horizon,
      limit: PAGE,
      filter,
    });
    if (stream.seq < floor) return void out.end();
    const text = textOf(events, stream);
    stream.seq = until;
    if (text !== '') write(stream, text);
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
      const { out, live, seq } = stream;
      const taken = stream.written - out.writableLength;
      if (out.writableLength > 0 && taken <= stream.taken) out.destroy();
      stream.taken = taken;
      write(stream, live ? `:\nid: ${cursorOf(Math.max(seq, tail.position()))}\n\n` : ':\n\n');
    }
  }

  const heartbeat = setInterval(beat, eventsHeartbeatMs).unref();

  return {
    admit: () => {
      if (places >= eventsStreams) throw unavailable('Too many readers follow the events.', 5);
      places++;
      let held = true;
      return () => {
        if (held) places--;
        held = false;
      };
    },
    open: (out, { after, filter, expiresAt }, free) => {
      // Not all at the same moment: they come again at once.
      const until = Date.now() + eventsStreamMs * (0.9 + Math.random() / 10);
      const stream: Stream = {
        out,
        filter,
        expiresAt: Math.min(expiresAt, until),
        seq: after,
        live: false,
        written: 0,
        taken: Number.NEGATIVE_INFINITY,
      };
      const { socket } = out.req;
      // A client that closes its sending half has most likely left.
      const end = () => void out.end();
      const leave = () => {
        socket.off('end', end);
        open.delete(stream);
        free();
        if (open.size > 0) return;
        unfollow?.();
        unfollow = undefined;
      };
      if (out.destroyed) return free();
      out.once('close', leave);
      socket.once('end', end);
      out.on('error', () => out.destroy());
      if (closed || socket.readableEnded) return void out.end(RETRY);
      open.add(stream);
      unfollow ??= tail.follow({ onEvents, onMissed: endAll });
      out.write(RETRY);
      queue(stream);
    },
    size: () => places,
    isClosed: () => closed,
    close: () => {
      closed = true;
      clearInterval(heartbeat);
      endAll();
    },
  };
}
