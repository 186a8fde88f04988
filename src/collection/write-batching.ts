import { actorSetting, storedActor } from '../auth/principal.js';
import type { Engine } from '../database-url/engine.js';
import { createBatcher } from '../db/batcher.js';
import { isDataError } from '../db/database-errors.js';
import type { Db, Row, Run } from '../db/db.js';
import { padForImmediateWrite } from '../db/pool/prepared.js';
import type { Sharing } from '../telemetry/instruments.js';
import type { ColumnValue } from './column.js';
import type { StoredRecord } from './record.js';

/** One complete record to be written. */
export interface Write {
  readonly stored: StoredRecord;
  readonly updatedAt: string;
  /** The values of the collection's own columns, in the order of its declaration. */
  readonly columns: readonly ColumnValue[];
  /** The caller; undefined: unknown. */
  readonly actor: string | undefined;
  /** Bytes of values that the document does not have; absent: few. */
  readonly more?: number;
}

/** Bytes of documents in one statement, and waiting. A short document counts as 4 KiB, which limits the rows too. */
const MAX_BYTES = 1_048_576;

const MAX_WAITING_BYTES = 67_108_864;

const MIN_BYTES = 4096;

const MAX_IN_FLIGHT = 2;

const ALONE = { max: 16, ms: 30, isAlone: true };

/** The last argument of a statement that writes, if events have an actor. */
export const actorArguments =
  (engine: Engine) =>
  (actor: string | undefined): (string | null)[] =>
    engine.hasActors ? [actorSetting(actor)] : [];

/** Rows as the first parameter of a statement. */
export const rowsText = (writes: readonly Write[], columnNames: readonly string[]): string =>
  JSON.stringify(
    writes.map(({ stored, updatedAt, columns }) => ({
      id: stored.id,
      version: stored.version,
      updated_at: updatedAt,
      doc: stored.doc,
      ...Object.fromEntries(columnNames.map((name, index) => [name, columns[index]])),
    })),
  );

/** The writes that share a statement. */
export interface SharedWrite<W extends Write, R> {
  /** The statement: it takes the rows as JSON and returns the `key` (position among the rows, from 1) of each one that it wrote. */
  readonly text: string;
  readonly columnNames: readonly string[];
  /** The outcome of a write that took place, of the row that the statement returned. */
  readonly resultOf: (write: W, row: Row) => R;
  /** Writes a record that the statement did not write, or finds out why it cannot be written. */
  readonly writeSingle: (run: Run, write: W) => Promise<R>;
  /** Whether a write without others takes the statement as well, before `writeSingle`. */
  readonly isForOne?: boolean;
  /**
   * Whether statements go one after the other while each is quick. Two long ones at once would end at once, and the database
   * would wait while the process responds to both.
   */
  readonly isAlone?: boolean;
  readonly sharing: Sharing;
}

/**
 * Writes the records of one tick together: one statement and one commit, and each write resolves when its record is
 * durable. A record that cannot be written affects no other. After a lost connection nothing is repeated, since it is unknown
 * which writes took effect.
 */
export function batchWrites<W extends Write, R>(
  { run, engine }: Pick<Db, 'run' | 'engine'>,
  { text, columnNames, resultOf, writeSingle, isForOne = false, isAlone = false, sharing }: SharedWrite<W, R>,
): (write: W) => Promise<R> {
  const { hasActors } = engine;

  /**
   * The rows of the writes that took place, by the index of the write. They go in the order of their ids, in which they are locked.
   * Of several writes of one record, the first one is among them.
   */
  async function writeMany(writes: readonly W[]): Promise<Map<number, Row>> {
    const firsts = new Map<string, number>();
    for (const [index, { stored }] of writes.entries())
      if (!firsts.has(stored.id)) firsts.set(stored.id, index);
    const order = [...firsts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, index]) => index);
    try {
      const ordered = order.map((index) => writes[index]!);
      const rows = padForImmediateWrite(rowsText(ordered, columnNames));
      const written = await run(text, hasActors ? [rows, actorsSetting(ordered)] : [rows]);
      return new Map(written.map((row) => [order[Number(row.key) - 1]!, row]));
    } catch (error) {
      if (isDataError(error)) return new Map();
      throw error;
    }
  }

  return createBatcher<W, R>(
    {
      max: MAX_BYTES,
      inFlight: MAX_IN_FLIGHT,
      ...(isAlone && { gather: ALONE }),
      waiting: MAX_WAITING_BYTES,
      sharing,
      weigh: ({ stored, more = 0 }) => Math.max(MIN_BYTES, stored.doc.length + more),
    },
    async (writes) => {
      if (writes.length === 1 && !isForOne) return [await writeSingle(run, writes[0]!)];
      const written = await writeMany(writes);
      return writes.map((write, index) => {
        const row = written.get(index);
        return row ? resultOf(write, row) : writeSingle(run, write);
      });
    },
  );
}

/** The setting for a statement that writes several records, each with an actor of its own. */
function actorsSetting(writes: readonly Write[]): string | null {
  const first = writes[0]?.actor;
  if (writes.every(({ actor }) => actor === first)) return actorSetting(first);
  const known = writes.filter(({ actor }) => actor !== undefined);
  return JSON.stringify(
    Object.fromEntries(known.map((write) => [write.stored.id, storedActor(write.actor!)])),
  );
}
