import { createBatcher } from '../db/batcher.js';
import type { Db, Run } from '../db/db.js';
import { padForImmediateWrite } from '../db/pool/prepared.js';
import { perRun } from '../db/shared-run.js';
import { arrayLiteral } from '../db/statements.js';
import { sharing } from '../telemetry/instruments.js';
import { parseRecords } from './document.js';
import type { NotFoundReason, StoredRecord } from './record.js';
import type { Statements } from './sql-templates.js';

/** The result of reading one record. */
export type Found = StoredRecord | NotFoundReason;

/** Reads a collection. With a `run`, a statement runs in its transaction; otherwise requests may share a statement. */
export interface Reads {
  get(id: string, run?: Run): Promise<Found>;
  exists(id: string, run?: Run): Promise<boolean>;
}

/** Ids in one statement, statements in flight, and ids that may wait. bench/experiments.md says why these values. */
const READS = {
  max: 64,
  inFlight: 3,
  waiting: 20_000,
  gather: { max: 32, ms: 10 },
  keyOf: (id: string) => id,
};
/** Large records are read one by one, so that the memory for them is bounded. */
const LARGE_READS = { max: 1, inFlight: 2, waiting: 2000 };

export function openReads(db: Db, name: string, statements: Statements): Reads {
  /** The statement that reads records by their ids, once it was used. */
  let text: string | undefined;
  const share = (operation: string) => sharing(db.metrics, operation, name);

  /** Reads records by their ids. Large ones are promises, since each takes a statement of its own. */
  async function readMany(run: Run, ids: readonly string[]): Promise<(Found | Promise<Found>)[]> {
    text ??= statements.of('get');
    const [row] = await run(text, [padForImmediateWrite(arrayLiteral(ids))]);
    const { records, large } = parseRecords(row!.records as string | null);
    return ids.map((id) => {
      const record = records.get(id);
      if (record) return record.version === 0 ? 'gone' : record;
      if (!large.has(id)) return 'absent';
      return largeReadersOf(run)?.(id) ?? readLarge(run, id);
    });
  }

  async function readLarge(run: Run, id: string): Promise<Found> {
    const [row] = await run(statements.of('get_large'), [id]);
    // Deleted since its length was read; reading it once more finds a tombstone.
    if (!row) return (await readMany(run, [id]))[0]!;
    return { id, version: row.version as number, doc: row.doc as string };
  }

  const readersOf = perRun(db.run, (run) =>
    createBatcher<string, Found>({ ...READS, sharing: share('read') }, (ids) => readMany(run, ids)),
  );
  const read = readersOf(undefined)!;
  const largeReadersOf = perRun(db.run, (run) =>
    createBatcher<string, Found>({ ...LARGE_READS, sharing: share('read large') }, async ([id]) => [
      await readLarge(run, id!),
    ]),
  );

  return {
    get: (id, run) => {
      if (!run) return read(id);
      return readersOf(run)?.(id) ?? readMany(run, [id]).then(([found]) => found!);
    },

    exists: async (id, run = db.run) => (await run(statements.of('exists'), [id])).length > 0,
  };
}
