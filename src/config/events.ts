import type { Reader } from './env-reader.js';

/** What the feed of events keeps, and how it is read. */
export interface EventsConfig {
  /** Writes leave events, and they can be read. */
  readonly events: boolean;
  readonly eventsRetentionSeconds: number;
  /** Events that are kept at the most. */
  readonly eventsMax: number;
  /** Bytes of the events that are stored at the most; twice as many while webhooks have still to receive them. */
  readonly eventsMaxBytes: number;
  /** Streams that are open, and requests that wait, at once; one more is a 503. */
  readonly eventsStreams: number;
  /** Of one principal; 0: any number. One more is a 429. */
  readonly eventsStreamsPerPrincipal: number;
  /** How long a stream lasts before its reader has to come again. */
  readonly eventsStreamMs: number;
  readonly eventsHeartbeatMs: number;
  /** Bytes that a stream's reader may be behind. */
  readonly eventsBuffer: number;
}

/** Reads the settings of events. */
export function readEventsConfig({ flag, integer }: Reader): EventsConfig {
  return {
    events: flag('EVENTS', true),
    eventsRetentionSeconds: integer('EVENTS_KEEP', 604_800, 1, 3_153_600_000),
    eventsMax: integer('EVENTS_MAX', 10_000_000, 1, 999_999_999_999),
    eventsMaxBytes: integer('EVENTS_MAX_BYTES', 4_294_967_296, 1_048_576, 999_999_999_999),
    eventsStreams: integer('EVENTS_STREAMS', 5000, 1, 1_000_000),
    eventsStreamsPerPrincipal: integer('EVENTS_STREAMS_PER_PRINCIPAL', 100, 0, 1_000_000),
    eventsStreamMs: integer('EVENTS_STREAM_MS', 900_000, 100, 86_400_000),
    eventsHeartbeatMs: integer('EVENTS_HEARTBEAT_MS', 15_000, 50, 600_000),
    eventsBuffer: integer('EVENTS_BUFFER', 262_144, 1024, 104_857_600),
  };
}
