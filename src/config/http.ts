import type { Reader } from './env-reader.js';
import { readRetirement } from './retirement-settings.js';

/** Reads what the service does for each request, and how long it waits for clients. */
export function readHttp(reader: Reader) {
  const { read, integer, flag } = reader;
  const publicPrefix = read('PUBLIC_PREFIX', '', 'a path without a slash at the end: /api/v1', (text) =>
    /^(\/[\w.~-]+){1,10}$/.test(text) ? text : undefined,
  );
  return {
    headersTimeoutMs: 10_000,
    requestTimeoutMs: integer('REQUEST_TIMEOUT_MS', 60_000, 100, 3_600_000),
    /** How long a client may read nothing of a response. */
    streamStallMs: 30_000,
    keepAliveMs: integer('KEEP_ALIVE_MS', 65_000, 0, 3_600_000),
    /** Responses are compressed for clients that accept it. */
    compression: flag('COMPRESSION', true),
    /** Shorter bodies fit into one packet in any case. */
    compressionMinBytes: integer('COMPRESSION_MIN_BYTES', 1400, 0, 1_073_741_824),
    requireIfMatch: flag('REQUIRE_IF_MATCH'),
    /** Lists are arrays and have any parameter, whatever the declarations say. A feature may set this. */
    anyParameters: false as boolean,
    /** Precedes the paths of links and of Location, behind a proxy that exposes only `/api/v1` or adds a path. */
    publicPrefix,
    retirement: readRetirement(reader, publicPrefix),
  };
}
