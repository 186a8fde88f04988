import { fingerprintOf, type Idempotency, type Identity, identityOf } from '../../actions/idempotency.js';
import { type BulkConnection, withBulkConnection } from '../../db/bulk-connection.js';
import { unavailable } from '../../errors/service-errors.js';
import type { ScopedCollection } from '../../feature.js';
import type { Reply } from '../../http/reply.js';
import { type Content, prefersLenient, type Request } from '../../http/request.js';
import { BODIES } from '../../limits/byte-budget.js';
import { MAX_PASSWORDS } from '../../passwords/password-queue.js';
import { WorkSlots } from '../../work/shared-runs.js';
import { REPORT_TYPE } from './job-task.js';
import type { JobMetrics } from './metrics.js';
import { CHUNK_BYTES, type CreationSettings, createRecords, inBoundedTransaction } from './record-batches.js';
import { type CreationReport, Report } from './report.js';
import { MAX_CREATIONS } from './settings.js';

/** Requests that wait for others with many records. */
const MAX_WAITING = 16;

/** The database, the settings and the collections of creations. */
export interface CreationServices extends CreationSettings {
  readonly databaseUrl: string;
  readonly events: boolean;
  readonly databaseEngine: BulkConnection['engine'];
  readonly dbTimeoutMs: number;
  readonly bodyBytes: number;
  /** 0: clients may take as long as they like. */
  readonly bodyMinRate: number;
  readonly bodyRateMs: number;
  readonly bulkRecords: number;
  readonly bulkBytes: number;
  readonly idempotency: Idempotency;
  readonly metrics: JobMetrics;
}

/** Creations of many records in this process. */
export class Creations {
  readonly #slots = new WorkSlots(MAX_CREATIONS, MAX_WAITING);
  readonly #running = new Set<Promise<unknown>>();
  readonly #stopping = new AbortController();

  constructor(readonly services: CreationServices) {}

  /**
   * Creates the records of a body in one transaction: all, or with `handling=lenient` those that are not refused. 201 with a
   * report, 422 with a report, 400, 408, 413, 503.
   */
  async create(collection: ScopedCollection, request: Request): Promise<Reply> {
    const { bodyBytes, bulkBytes } = this.services;
    const content = request.body!.stream!;
    const identity = identityOf(request, async () => fingerprintOf(request, await content.digest(bulkBytes)));
    // The beginning is in memory before the work has a slot, which slow clients must not occupy.
    if (!BODIES.fits(CHUNK_BYTES, bodyBytes)) throw busy();
    BODIES.add(CHUNK_BYTES);
    try {
      const body = await beginningOf(content, bulkBytes);
      const created = this.#slots.run(() => this.#createAll(collection, request, body, identity));
      if (!created) throw busy();
      this.#running.add(created);
      return await created.finally(() => this.#running.delete(created));
    } finally {
      BODIES.add(-CHUNK_BYTES);
    }
  }

  async #createAll(
    collection: ScopedCollection,
    request: Request,
    body: Beginning,
    identity: Identity | undefined,
  ): Promise<Reply> {
    const { databaseUrl, dbTimeoutMs, bodyMinRate, bodyRateMs, idempotency, metrics } = this.services;
    const { bulkRecords, bulkBytes: maxBytes } = this.services;
    const { resource } = collection;
    const { type, stream: content } = request.body!;
    const isLenient = prefersLenient(request.headers.prefer);
    const report = new Report(resource);
    const createAll = async (connection: BulkConnection): Promise<Reply> => {
      await createRecords(connection, {
        ...{ collection, settings: this.services, body: { ...body, type, maxBytes }, request },
        bytesFrom: (position) => bytesFrom(body, position),
        limit: resource.hasPasswords ? Math.min(bulkRecords, MAX_PASSWORDS.records) : bulkRecords,
        isLenient,
        report,
        storing: (store) => {
          if (this.#stopping.signal.aborted) throw unavailable('The service is stopping.');
          return store();
        },
      });
      return reportReply(report.result(false), isLenient);
    };
    let isDone = false;
    try {
      const reply = await withBulkConnection(databaseUrl, this.services, (connection) =>
        inBoundedTransaction(connection, dbTimeoutMs, async () => {
          // Locks and events of the transaction last, or wait, until its end.
          if (bodyMinRate > 0) content!.waitAtMost(bodyRateMs);
          const work = () => createAll(connection);
          return identity ? idempotency.once(connection.run, identity, work) : work();
        }),
      );
      isDone = true;
      return reply;
    } finally {
      metrics.records.of('stored').value += isDone ? report.stored : 0;
      metrics.records.of('refused').value += report.refused;
    }
  }

  /** Waits for creations in progress; after `ms` they are rolled back. */
  async stop(ms: number): Promise<void> {
    const timer = setTimeout(() => this.#stopping.abort(), ms);
    await Promise.allSettled(this.#running);
    clearTimeout(timer);
  }
}

const busy = () => unavailable('Too many requests with many records are in progress.');

/** The beginning of a body, and the rest. */
interface Beginning {
  readonly head: Buffer;
  readonly isWhole: boolean;
  readonly rest: AsyncGenerator<Buffer>;
}

async function beginningOf(content: Content, maxBytes: number): Promise<Beginning> {
  const rest = content.read(maxBytes);
  const parts: Buffer[] = [];
  let [bytes, isWhole] = [0, false];
  while (bytes < CHUNK_BYTES && !isWhole) {
    const { done = false, value } = await rest.next();
    isWhole = done;
    if (value) parts.push(value);
    bytes += value?.length ?? 0;
  }
  return { head: Buffer.concat(parts), isWhole, rest };
}

/** The bytes of a body from a position within its beginning on. */
async function* bytesFrom({ head, rest }: Beginning, position: number): AsyncGenerator<Buffer> {
  yield head.subarray(position);
  yield* rest;
}

const reportReply = (report: CreationReport, isLenient: boolean): Reply => ({
  status: 201,
  headers: [
    ...['Content-Type', REPORT_TYPE, 'Cache-Control', 'no-store'],
    ...(isLenient ? ['Preference-Applied', 'handling=lenient'] : []),
  ],
  body: JSON.stringify(report),
});
