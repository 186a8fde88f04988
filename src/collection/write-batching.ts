import { createBatcher } from '../db/batcher.js';
import type { Run, Value } from '../db/db.js';
import { padForImmediateWrite } from '../db/pool/postgres-immediate-write.js';
import { isDataError } from '../db/sqlstate.js';
import type { Sharing } from '../telemetry/metrics.js';
import type { StoredRecord } from './record.js';

/** One record to be written, worked out whole. */
export interface Write {
  readonly stored: StoredRecord;
  readonly updatedAt: string;
  /** The values of the collection's own columns, as the declaration orders them. */
  readonly columns: readonly Value[];
}

/** Bytes of documents in one statement, and waiting; a short document counts as 4 KiB, which bounds the rows too. */
const MAX_BYTES = 1_048_576;
const MAX_WAITING_BYTES = 67_108_864;
const MIN_BYTES = 4096;
/** Of 1, 2, 4 the best when measured: 0.93, 1, 1.01. */
const UNDER_WAY = 2;

/**
 * Writes those records together that come in one turn of the event loop: one statement, one commit, and each
 * outcome is told when its record is durable. `text` takes the rows as JSON and gives the `key` (the place
 * among the rows, from 1) of each one it wrote. What it did not write goes to `alone`, which tells why: a row
 * that is refused spoils no neighbour. A lost connection is not that: then nobody knows what was written.
 */
export function batchWrites<W extends Write, R>(
  run: Run,
  text: string,
  ownColumns: readonly string[],
  alone: (write: W) => Promise<R>,
  sharing: Sharing,
): (write: W) => Promise<R | StoredRecord> {
  const rowOf = ({ stored, updatedAt, columns }: W) => {
    const row: Record<string, Value> = {
      id: stored.id,
      version: stored.version,
      updated_at: updatedAt,
      doc: stored.doc,
    };
    for (const [at, column] of ownColumns.entries()) row[column] = columns[at]!;
    return row;
  };

  /** The places of those that were written. The rows go in the order of their ids, so that they are locked in it. */
  async function writtenOf(writes: readonly W[]): Promise<Set<number>> {
    const places = [...writes.keys()].sort((a, b) => (writes[a]!.stored.id < writes[b]!.stored.id ? -1 : 1));
    try {
      const rows = await run(text, [
        padForImmediateWrite(JSON.stringify(places.map((place) => rowOf(writes[place]!)))),
      ]);
      return new Set(rows.map(({ key }) => places[Number(key) - 1]!));
    } catch (error) {
      if (isDataError(error)) return new Set();
      throw error;
    }
  }

  return createBatcher<W, R | StoredRecord>(
    {
      max: MAX_BYTES,
      inFlight: UNDER_WAY,
      waiting: MAX_WAITING_BYTES,
      sharing,
      weigh: ({ stored }) => Math.max(MIN_BYTES, stored.doc.length),
    },
    async (writes) => {
      if (writes.length === 1) return [await alone(writes[0]!)];
      const written = await writtenOf(writes);
      return writes.map((write, at) => (written.has(at) ? write.stored : alone(write)));
    },
  );
}
