import type { Guarded } from '../../access/guarded-collection.js';
import { fingerprintOf, type Idempotency, type Identity, identityOf } from '../../actions/idempotency.js';
import { MAX_PASSWORDS } from '../../actions/password-preparation.js';
import { type BulkConnection, withBulkConnection } from '../../db/bulk-connection.js';
import { inTransaction } from '../../db/session.js';
import { unavailable } from '../../errors/service-errors.js';
import { prefersLenient } from '../../http/prefer.js';
import type { Reply } from '../../http/reply.js';
import type { Content, Request } from '../../http/request.js';
import { BODIES } from '../../limits/byte-budget.js';
import { WorkSlots } from '../../work/shared-runs.js';
import { recordsRefused, tooManyRecords } from './errors.js';
import { REPORT_TYPE } from './job-task.js';
import type { JobMetrics } from './metrics.js';
import { CHUNK_BYTES, type CreationSettings, RecordBatches } from './record-batches.js';
import { layoutOf } from './record-layout.js';
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
  async create(collection: Guarded, request: Request): Promise<Reply> {
    const { bodyBytes, bulkBytes } = this.services;
    const content = request.body!.stream!;
    const identity = identityOf(request, async () => fingerprintOf(request, await content.digest(bulkBytes)));
    // The beginning is in memory before the work has a slot, which slow clients must not occupy.
    if (!BODIES.fits(CHUNK_BYTES, bodyBytes)) throw busy();
    BODIES.add(CHUNK_BYTES);
    try {
      const body = await beginningOf(content, bulkBytes);
      const creation = new Creation(this.services, collection, request, body, this.#stopping.signal);
      const created = this.#slots.run(() => creation.run(identity));
      if (!created) throw busy();
      this.#running.add(created);
      return await created.finally(() => this.#running.delete(created));
    } finally {
      BODIES.add(-CHUNK_BYTES);
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
  readonly content: Content;
  readonly head: Buffer;
  readonly isWhole: boolean;
  readonly rest: AsyncGenerator<Buffer>;
}

async function beginningOf(content: Content, maxBytes: number): Promise<Beginning> {
  const rest = content.read(maxBytes);
  const parts: Buffer[] = [];
  let bytes = 0;
  while (bytes < CHUNK_BYTES) {
    const { done, value } = await rest.next();
    if (done) return { content, head: Buffer.concat(parts), isWhole: true, rest };
    parts.push(value);
    bytes += value.length;
  }
  return { content, head: Buffer.concat(parts), isWhole: false, rest };
}

/** The bytes of a body from a position within its beginning on. */
async function* bytesFrom({ head, rest }: Beginning, position: number): AsyncGenerator<Buffer> {
  yield head.subarray(position);
  yield* rest;
}

/** One creation of many records. */
class Creation {
  #result: CreationReport | undefined;

  constructor(
    readonly services: CreationServices,
    readonly collection: Guarded,
    readonly request: Request,
    readonly body: Beginning,
    readonly stopping: AbortSignal,
  ) {}

  async run(identity: Identity | undefined): Promise<Reply> {
    const { databaseUrl, dbTimeoutMs, bodyMinRate, bodyRateMs, idempotency, metrics } = this.services;
    let reply!: Reply;
    try {
      await withBulkConnection(databaseUrl, this.services, (connection) =>
        inTransaction(connection.execute, false, async () => {
          await connection.execute(`set local lock_timeout = ${Math.max(1, Math.floor(dbTimeoutMs / 2))}`);
          // Locks and events of the transaction last, or wait, until its end.
          if (bodyMinRate > 0) this.body.content.waitAtMost(bodyRateMs);
          const work = () => this.#createAll(connection);
          reply = await (identity ? idempotency.once(connection.run, identity, work) : work());
        }),
      );
      return reply;
    } finally {
      metrics.records.of('stored').value += reply ? (this.#result?.meta.stored ?? 0) : 0;
      metrics.records.of('refused').value += this.#result?.meta.refused ?? 0;
    }
  }

  async #createAll(connection: BulkConnection): Promise<Reply> {
    const { services, collection, request, body } = this;
    const { resource } = collection;
    const { bulkRecords, bulkBytes } = services;
    const layout = layoutOf(request.body!.type, body.head, body.isWhole, resource);
    const batches = new RecordBatches(collection, services, layout, request, bulkBytes);
    const { from } = layout;
    const isLenient = prefersLenient(request.headers.prefer);
    const limit = resource.hasPasswords ? Math.min(bulkRecords, MAX_PASSWORDS.records) : bulkRecords;
    const report = new Report(resource);
    let records = 0;
    for await (const chunk of batches.chunks(bytesFrom(body, from.position), from)) {
      if (this.stopping.aborted) throw unavailable('The service is stopping.');
      records += chunk.records.length;
      if (records > limit) throw tooManyRecords(limit);
      const read = await batches.read(chunk);
      const stored = await batches.store(connection, read);
      await report.add(stored, read.refusals.list);
      if (!isLenient && report.isFull) break;
    }
    const isRefused = !isLenient && report.refused > 0;
    this.#result = report.result(isRefused);
    if (isRefused) throw recordsRefused(this.#result);
    return reportReply(this.#result, isLenient);
  }
}

function reportReply(report: CreationReport, isLenient: boolean): Reply {
  return {
    status: 201,
    headers: [
      ...['Content-Type', REPORT_TYPE, 'Cache-Control', 'no-store'],
      ...(isLenient ? ['Preference-Applied', 'handling=lenient'] : []),
    ],
    body: JSON.stringify(report),
  };
}
