import { actorSetting, callerOf } from '../../auth/principal.js';
import type { BulkConnection } from '../../db/bulk-connection.js';
import { inTransaction } from '../../db/session.js';
import { invalidBody, payloadTooLarge } from '../../errors/input-errors.js';
import type { ScopedCollection } from '../../feature.js';
import { markOf } from '../../formats/text-encoding.js';
import { CSV_TYPE } from '../../http/media-types.js';
import type { Request } from '../../http/request.js';
import type { Action } from '../../http/router.js';
import { turn } from '../../limits/turn.js';
import { restrictCreationToOwn } from '../../policy/ownership.js';
import { type Chunk, chunksOf, type Position } from '../transfer/chunks.js';
import { type CsvHeader, headerOf } from '../transfer/csv-header.js';
import { columnsOf } from '../transfer/csv-record.js';
import type { Draft, Row } from '../transfer/import-row.js';
import { ImportErrors } from '../transfer/import-row.js';
import { FileError } from '../transfer/input.js';
import { checkDrafts, type RecordRules, readDrafts } from '../transfer/read-rows.js';
import { csvScanner, NDJSON, type Scanner } from '../transfer/scan.js';
import { storeBatch } from '../transfer/store-batch.js';
import { recordsRefused, tooManyRecords } from './errors.js';
import { SQL } from './job-store.js';
import type { Report } from './report.js';

/** Bytes of records that are stored together, and of those with passwords, which take long. */
export const CHUNK_BYTES = 262_144;
const PASSWORD_CHUNK_BYTES = 16_384;

/** Bytes of the names that the records of CSV repeat and that are in memory together. */
const CHUNK_NAME_BYTES = 4_194_304;

/** How many times as many bytes as the body the names may have that its records repeat. */
const NAMES_FACTOR = 8;

/** The collections and settings that creations need. */
export interface CreationSettings {
  readonly collections: readonly ScopedCollection[];
  /** Bytes of one record. */
  readonly bodyLimit: number;
  readonly tombstones: boolean;
}

/** A body with records: its media type and its first bytes. */
interface Body {
  readonly type: string;
  readonly head: Buffer;
  /** Whether nothing follows the first bytes. */
  readonly isWhole: boolean;
  /** Bytes that it may have. */
  readonly maxBytes: number;
}

/** How the records of a body are created. */
export interface Creation {
  /** Where to begin; absent: with the first record. */
  readonly from?: Position | undefined;
  /** The bytes of the body from a position on. */
  readonly bytesFrom: (position: number) => AsyncIterable<Buffer>;
  /** The most records. */
  readonly limit: number;
  /** Whether records are stored although others are refused. */
  readonly isLenient: boolean;
  readonly report: Report;
  /** Stores the records of a chunk by `store`, in a transaction. */
  readonly storing: (store: () => Promise<void>, next: Position) => Promise<void>;
}

/** Bytes of the name of a column: each record repeats it, while its row has two bytes for it. */
const MAX_NAME_BYTES = 1000;

/** Creates the records of a body in batches, with the checks that a request for each record would pass. */
export class RecordBatches {
  readonly #rules: RecordRules;
  readonly #scanner: Scanner;
  readonly #from: Position;
  #nameBytes = 0;
  readonly #authorize: NonNullable<Action['authorize']> | undefined;

  /** Throws 400 for a header of CSV that is not one. */
  constructor(
    readonly collection: ScopedCollection,
    readonly settings: CreationSettings,
    readonly body: Body,
    /** The request of the caller, whose permission applies to each record. */
    readonly request: Request,
  ) {
    const { resource, check: checkOf } = collection.whole;
    const caller = callerOf(request.principal);
    const check: RecordRules['check'] = (input, origin) => checkOf(input, origin, undefined, caller);
    const [rename, maxBytes] = [new Map<string, string>(), settings.bodyLimit];
    const { encoding, bytes: start } = markOf(body.head);
    if (encoding !== 'utf-8') throw invalidBody('must be UTF-8', 'encoding');
    const header = body.type === CSV_TYPE ? headerIn(body, start) : undefined;
    this.#scanner = header ? csvScanner(header.delimiter) : NDJSON;
    this.#from = header?.from ?? { position: start, place: 1 };
    const columns = header && columnsOf(header, resource, rename, 'request');
    this.#rules = { resource, check, origin: 'request', rename, maxBytes, retainsIds: false, columns };
    const none: Action = { run: () => ({ status: 204, headers: [] }) };
    this.#authorize = restrictCreationToOwn(collection, none).authorize;
  }

  /** Creates the records. Throws 413 for too many, and 422 if records are refused and that is not lenient. */
  async createAll(connection: BulkConnection, creation: Creation): Promise<void> {
    const { from = this.#from, bytesFrom, limit, isLenient, report, storing } = creation;
    let records = 0;
    for await (const chunk of this.#chunks(bytesFrom(from.position), from)) {
      records += chunk.records.length;
      if (records > limit) throw tooManyRecords(limit);
      const refusals = new ImportErrors(false);
      const rows = await this.#read(chunk, refusals);
      await storing(async () => {
        const stored = await this.#store(connection, rows, refusals);
        await report.add(stored, refusals.list);
      }, chunk.next);
      if (!isLenient && report.isFull) break;
    }
    if (!isLenient && report.refused > 0) throw recordsRefused(report.result(true));
  }

  #chunks(bytes: AsyncIterable<Buffer>, from: Position): AsyncGenerator<Chunk> {
    const { bodyLimit } = this.settings;
    const size = this.collection.resource.hasPasswords ? PASSWORD_CHUNK_BYTES : CHUNK_BYTES;
    return chunksOf(bytes, this.#scanner, from, {
      size,
      maxRecords: Math.ceil(CHUNK_NAME_BYTES / (this.#rules.columns?.nameBytes ?? 1)),
      maxRecordBytes: bodyLimit,
      tooLong: () => payloadTooLarge(bodyLimit),
    });
  }

  /** Reads and checks the records of a chunk. */
  async #read(chunk: Chunk, refusals: ImportErrors): Promise<readonly Row[]> {
    this.#requireFewNames(chunk.records.length);
    const read = await readDrafts(chunk, this.#rules, refusals.add);
    const drafts = this.#authorize ? await this.#permitted(read, refusals) : read;
    return checkDrafts(drafts, this.#rules, refusals.add);
  }

  /** Stores the records of a chunk as a part of the transaction that is open. Returns their number. */
  async #store(connection: BulkConnection, rows: readonly Row[], refusals: ImportErrors): Promise<number> {
    const { run } = connection;
    await run(SQL.set_actor, [actorSetting(callerOf(this.request.principal))]);
    // Access rules decide as of now.
    const collection = this.collection.as(this.request);
    const { resource } = this.collection;
    const { tombstones } = this.settings;
    const target = { connection, resource, onConflict: 'fail', isPart: true, tombstones } as const;
    let pending = rows;
    let count = 0;
    while (pending.length > 0) {
      const inputs = pending.map(({ input }) => input);
      const errors = await collection.creationErrors?.(inputs, run);
      const decided = pending.slice(0, errors?.length);
      pending = pending.slice(decided.length);
      for (const [at, error] of (errors ?? []).entries()) if (error) refusals.add(decided[at]!, error);
      const valid = decided.filter(({ place }) => !refusals.has(place));
      await storeBatch(target, valid, refusals, async ({ stored }) => {
        count += stored.length;
      });
    }
    return count;
  }

  /** Throws 400 for CSV that becomes many times as long when each record has the names of the columns. */
  #requireFewNames(records: number): void {
    const max = NAMES_FACTOR * this.body.maxBytes;
    this.#nameBytes += records * (this.#rules.columns?.nameBytes ?? 0);
    if (this.#nameBytes > max)
      throw invalidBody(`the records repeat more than ${max} bytes of the names of columns`, 'header');
  }

  async #permitted(drafts: readonly Draft[], refusals: ImportErrors): Promise<readonly Draft[]> {
    for (const draft of drafts) {
      await turn();
      try {
        void this.#authorize!({ ...this.request, body: { ...NO_BODY, value: draft.record } });
      } catch (error) {
        refusals.add(draft, error);
      }
    }
    return drafts.filter(({ place }) => !refusals.has(place));
  }
}

const NO_BODY = { type: '', bytes: Buffer.alloc(0) };

/** The header of a body of CSV. Throws 400. */
function headerIn(body: Body, start: number): CsvHeader {
  try {
    const header = headerOf({ name: 'body', start, ...body });
    if (header.names.some((name) => Buffer.byteLength(name ?? '') > MAX_NAME_BYTES))
      throw invalidBody(`the header has a name of more than ${MAX_NAME_BYTES} bytes`, 'header');
    return header;
  } catch (error) {
    throw error instanceof FileError ? invalidBody(error.message, 'header') : error;
  }
}

/** Runs a transaction whose locks are awaited for half of the time limit of a statement, and not longer. */
export const inBoundedTransaction = <T>(
  { execute }: BulkConnection,
  dbTimeoutMs: number,
  work: () => Promise<T>,
): Promise<T> =>
  inTransaction(execute, false, async () => {
    await execute(`set local lock_timeout = ${Math.max(1, Math.floor(dbTimeoutMs / 2))}`);
    return work();
  });
