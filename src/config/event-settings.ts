import type { Reader } from './env-reader.js';

/** Reads what the event feed stores and how it is read. */
export function readEventsConfig({ flag, integer }: Reader) {
  return {
    /** Writes publish events, which can be read. */
    events: flag('EVENTS', true),
    eventsRetentionSeconds: integer('EVENTS_RETENTION', 604_800, 1, 3_153_600_000),
    /** How long the changes of records with a history are stored, if the records exist as long. */
    historyRetentionSeconds: integer('HISTORY_RETENTION', 3_153_600_000, 1, 3_153_600_000),
    /** Max stored events. */
    eventsMax: 10_000_000,
    /** Max bytes of the stored events; twice as many while webhooks have not received them. */
    eventsMaxBytes: integer('EVENTS_MAX_BYTES', 4_294_967_296, 1_048_576, 999_999_999_999),
    /** Open streams and waiting requests; one more is a 503. */
    eventsStreams: 5000,
    /** Streams and waiting requests of one principal; a further one is a 429. */
    eventsStreamsPerPrincipal: 100,
    /** How long a stream lasts before its reader has to reconnect. */
    eventsStreamMs: 900_000,
    eventsHeartbeatMs: 15_000,
    /** Between two checks whether the credentials of open streams are still valid. */
    eventsCredentialMs: 1000,
    /** Bytes that the reader of a stream may be behind. */
    eventsBuffer: 262_144,
  };
}
