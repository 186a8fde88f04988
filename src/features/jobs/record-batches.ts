import type { Guarded } from '../../access/guarded-collection.js';
import { restrictCreationToOwn } from '../../actions/owner-check.js';
import { callerOf } from '../../auth/principal.js';
import { actorSetting } from '../../collection/write-batching.js';
import type { BulkConnection } from '../../db/bulk-connection.js';
import { invalidBody, payloadTooLarge } from '../../errors/input-errors.js';
import type { Request } from '../../http/request.js';
import type { Action } from '../../http/router.js';
import { turn } from '../../limits/turn.js';
import { type Chunk, chunksOf, type Position } from '../transfer/chunks.js';
import { ImportErrors } from '../transfer/import-errors.js';
import type { Draft, Row } from '../transfer/import-row.js';
import { checkDrafts, type RecordRules, readDrafts } from '../transfer/read-rows.js';
import { storeBatch } from '../transfer/store-batch.js';
import { SQL } from './job-store.js';
import type { Layout } from './record-layout.js';

/** Bytes of records that are stored together, and of those with passwords, which take long. */
export const CHUNK_BYTES = 262_144;
const PASSWORD_CHUNK_BYTES = 16_384;

/** Bytes of the names that the records of CSV repeat and that are in memory together. */
const CHUNK_NAME_BYTES = 4_194_304;

/** How many times as many bytes as the body the names may have that its records repeat. */
const NAMES_FACTOR = 8;

/** The collections and settings that creations need. */
export interface CreationSettings {
  readonly collections: readonly Guarded[];
  /** Bytes of one record. */
  readonly bodyLimit: number;
  readonly tombstones: boolean;
}

/** The records of a chunk that are valid, and why others are refused. */
export interface ReadChunk {
  readonly rows: readonly Row[];
  readonly refusals: ImportErrors;
}

/** Creates the records of a body in batches, with the checks that a request for each record would pass. */
export class RecordBatches {
  readonly #rules: RecordRules;
  #nameBytes = 0;
  readonly #authorize: NonNullable<Action['authorize']> | undefined;

  constructor(
    readonly collection: Guarded,
    readonly settings: CreationSettings,
    readonly layout: Layout,
    /** The request of the caller, whose permission applies to each record. */
    readonly request: Request,
    /** Bytes that the body may have. */
    readonly maxBytes: number,
  ) {
    const { resource, check: checkOf } = collection.whole;
    const caller = callerOf(request.principal);
    const check: RecordRules['check'] = (input, origin) => checkOf(input, origin, undefined, caller);
    const { bodyLimit } = settings;
    const [rename, retainsIds, { columns }] = [new Map<string, string>(), false, layout];
    this.#rules = { resource, check, origin: 'request', rename, maxBytes: bodyLimit, retainsIds, columns };
    const none: Action = { run: () => ({ status: 204, headers: [] }) };
    this.#authorize = restrictCreationToOwn(collection, none).authorize;
  }

  /** The records of bytes from a position on, in chunks. */
  chunks(bytes: AsyncIterable<Buffer>, from: Position): AsyncGenerator<Chunk> {
    const { bodyLimit } = this.settings;
    const size = this.collection.resource.hasPasswords ? PASSWORD_CHUNK_BYTES : CHUNK_BYTES;
    const names = this.layout.columns?.nameBytes ?? 1;
    return chunksOf(bytes, this.layout.scanner, from, {
      size,
      maxRecords: Math.ceil(CHUNK_NAME_BYTES / names),
      maxRecordBytes: bodyLimit,
      tooLong: () => payloadTooLarge(bodyLimit),
    });
  }

  /** Reads and checks the records of a chunk. */
  async read(chunk: Chunk): Promise<ReadChunk> {
    this.#requireFewNames(chunk.records.length);
    const refusals = new ImportErrors(false);
    const read = await readDrafts(chunk, this.#rules, refusals.add);
    const drafts = this.#authorize ? await this.#permitted(read, refusals) : read;
    return { rows: await checkDrafts(drafts, this.#rules, refusals.add), refusals };
  }

  /** Stores the records of a chunk as a part of the transaction that is open. Returns their number. */
  async store(connection: BulkConnection, { rows, refusals }: ReadChunk): Promise<number> {
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
    const max = NAMES_FACTOR * this.maxBytes;
    this.#nameBytes += records * (this.layout.columns?.nameBytes ?? 0);
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
