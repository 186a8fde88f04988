import { actorSetting, callerOf } from '../../auth/principal.js';
import { InputError } from '../../cli/io.js';
import type { BulkConnection } from '../../db/bulk-connection.js';
import { inTransaction } from '../../db/session.js';
import { invalidBody, payloadTooLarge } from '../../errors/input-errors.js';
import type { ScopedCollection } from '../../feature.js';
import { markOf } from '../../formats/text-encoding.js';
import { CSV_TYPE } from '../../http/media-types.js';
import type { Request } from '../../http/request.js';
import { chunkBytes, chunksOf, type Position } from '../transfer/chunks.js';
import { type CsvHeader, headerOf } from '../transfer/csv-header.js';
import { columnsOf } from '../transfer/csv-record.js';
import { ImportErrors, type Row } from '../transfer/import-row.js';
import { checkDrafts, type RecordRules, readDrafts } from '../transfer/read-rows.js';
import { csvScanner, NDJSON } from '../transfer/scan.js';
import { storeBatch } from '../transfer/store-batch.js';
import { recordsRefused, tooManyRecords } from './errors.js';
import { SQL } from './job-store.js';
import type { Report } from './report.js';
import type { JobServices } from './settings.js';

/** Bytes of the names that the records of CSV repeat and that are in memory together. */
const CHUNK_NAME_BYTES = 4_194_304;

/** How many times as many bytes as the body the names may have that its records repeat. */
const NAMES_FACTOR = 8;

/** A body with records: its beginning, and the rest, which is read once. */
export interface Body {
  readonly type: string;
  /** Bytes that it may have. */
  readonly maxBytes: number;
  readonly head: Buffer;
  /** Whether nothing follows the beginning. */
  readonly isWhole: boolean;
  readonly rest: AsyncIterable<Buffer>;
}

/** Bytes of the beginning of a body. */
export const BEGINNING_BYTES = 262_144;

/** A body with its beginning in memory. */
export async function bodyOf(type: string, maxBytes: number, rest: AsyncGenerator<Buffer>): Promise<Body> {
  const parts: Buffer[] = [];
  let [bytes, isWhole] = [0, false];
  while (bytes < BEGINNING_BYTES && !isWhole) {
    const { done = false, value } = await rest.next();
    isWhole = done;
    if (value) parts.push(value);
    bytes += value?.length ?? 0;
  }
  return { type, maxBytes, head: Buffer.concat(parts), isWhole, rest };
}

/** How the records of a body are created. */
export interface Creation {
  readonly collection: ScopedCollection;
  /** The request of the caller, whose permission applies to each record. */
  readonly request: Request;
  readonly body: Body;
  /** The place of the first record; absent: all of the body are created. */
  readonly from?: number | undefined;
  /** The most records. */
  readonly limit: number;
  /** Whether records are stored although others are refused. */
  readonly isLenient: boolean;
  readonly report: Report;
  /** Stores the records of a chunk by `store`, in a transaction. */
  readonly storing: (store: () => Promise<void>, next: Position, connection: BulkConnection) => Promise<void>;
}

/**
 * Creates the records of a body in batches, with the checks that a request for each record would pass. Throws 400 for a header of
 * CSV that is not one, 413 for too many records, and 422 if records are refused and that is not lenient.
 */
export async function createRecords(
  connection: BulkConnection,
  services: JobServices,
  creation: Creation,
): Promise<void> {
  const { collection, body, from, limit, isLenient, report, storing } = creation;
  const { rules, scanner, first } = readerOf(creation, services.bodyLimit);
  const { nameBytes = 0 } = rules.columns ?? {};
  const chunks = chunksOf(bytesFrom(body, first.position), scanner, first, {
    size: chunkBytes(collection.resource.hasPasswords),
    since: from,
    maxRecords: Math.ceil(CHUNK_NAME_BYTES / (nameBytes || 1)),
    maxRecordBytes: rules.maxBytes,
    tooLong: () => payloadTooLarge(rules.maxBytes),
  });
  const maxNames = NAMES_FACTOR * body.maxBytes;
  const { stored, refused } = report;
  let records = 0;
  for await (const chunk of chunks) {
    records += chunk.records.length;
    if (records > limit) throw tooManyRecords(limit);
    // CSV becomes many times as long when each record has the names of the columns.
    if (records * nameBytes > maxNames)
      throw invalidBody(`the records repeat more than ${maxNames} bytes of the names of columns`, 'header');
    const refusals = new ImportErrors();
    const drafts = await readDrafts(chunk, rules, refusals.add);
    const rows = await checkDrafts(drafts, rules, refusals.add);
    const store = async () =>
      report.add(await storeRows(connection, services, creation, rows, refusals), refusals.list);
    await storing(store, chunk.next, connection);
    if (!isLenient && report.omitted > 0) break;
  }
  const isUndone = !isLenient && report.refused > 0;
  const count = services.metrics.records;
  count.of('stored').value += isUndone ? 0 : report.stored - stored;
  count.of('refused').value += report.refused - refused;
  if (isUndone) throw recordsRefused(report.result(true));
}

/** How the records of a body are read, and where the first one is. Throws 400. */
function readerOf({ collection, body, request }: Creation, maxBytes: number) {
  const { resource, check: checkOf } = collection.whole;
  const caller = callerOf(request.principal);
  const check: RecordRules['check'] = (input, origin) => checkOf(input, origin, undefined, caller);
  const { encoding, bytes: start } = markOf(body.head);
  if (encoding !== 'utf-8') throw invalidBody('must be UTF-8', 'encoding');
  const header = body.type === CSV_TYPE ? headerIn(body, start) : undefined;
  const rename = new Map<string, string>();
  const rules: RecordRules = {
    ...{ resource, check, origin: 'request', rename, maxBytes, retainsIds: false },
    columns: header && columnsOf(header, resource, rename, 'request'),
  };
  const scanner = header ? csvScanner(header.delimiter) : NDJSON;
  return { rules, scanner, first: header?.from ?? { position: start, place: 1 } };
}

/** The bytes of a body from a position within its beginning on. */
async function* bytesFrom({ head, rest }: Body, position: number): AsyncGenerator<Buffer> {
  yield head.subarray(position);
  yield* rest;
}

/** Stores the records of a chunk as a part of the transaction that is open. Returns their number. */
async function storeRows(
  connection: BulkConnection,
  { tombstones }: JobServices,
  { collection: whole, request }: Creation,
  rows: readonly Row[],
  refusals: ImportErrors,
): Promise<number> {
  const { run } = connection;
  await run(SQL.set_actor, [actorSetting(callerOf(request.principal))]);
  // Access rules decide as of now.
  const collection = whole.as(request);
  const { resource } = whole;
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

/** The header of a body of CSV. Throws 400. */
function headerIn(body: Body, start: number): CsvHeader {
  try {
    return headerOf({ name: 'body', start, ...body });
  } catch (error) {
    throw error instanceof InputError ? invalidBody(error.message, 'header') : error;
  }
}

/** Runs a transaction whose locks are awaited for half of the time limit of a statement, and not longer. */
export const inBoundedTransaction = <T>(
  { execute }: BulkConnection,
  dbTimeoutMs: number,
  work: () => Promise<T>,
): Promise<T> =>
  inTransaction(execute, async () => {
    await execute(`set local lock_timeout = ${Math.max(1, Math.floor(dbTimeoutMs / 2))}`);
    return work();
  });
