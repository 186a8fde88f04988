import { withBulkConnection } from '../../db/bulk-connection.js';
import { unavailable } from '../../errors/service-errors.js';
import type { Idempotency, ScopedCollection } from '../../feature.js';
import type { Reply } from '../../http/reply.js';
import { prefersLenient, type Request } from '../../http/request.js';
import { MAX_PASSWORDS } from '../../passwords/password-queue.js';
import { WorkSlots } from '../../work/shared-runs.js';
import { REPORT_TYPE } from './job-task.js';
import { BEGINNING_BYTES, type Body, bodyOf, createRecords, inBoundedTransaction } from './record-batches.js';
import { Report } from './report.js';
import { type JobServices, MAX_CREATIONS } from './settings.js';

/** Requests that wait for others with many records. */
const MAX_WAITING = 16;

/** Creations of many records in this process. */
export class Creations {
  readonly #slots = new WorkSlots(MAX_CREATIONS, MAX_WAITING);
  readonly #running = new Set<Promise<unknown>>();
  readonly #stopping = new AbortController();

  constructor(readonly services: JobServices) {}

  /**
   * Creates the records of a body in one transaction: all, or with `handling=lenient` those that are not refused. 201 with a
   * report, 422 with a report, 400, 408, 413, 503.
   */
  async create(collection: ScopedCollection, request: Request): Promise<Reply> {
    const { bodyBytes, bulkBytes, idempotency, bodies } = this.services;
    const { type, stream: content } = request.body!;
    const identity = idempotency.identityOf(request, () => content!.digest(bulkBytes));
    // The beginning is in memory before the work has a slot, which slow clients must not occupy.
    if (!bodies.fits(BEGINNING_BYTES, bodyBytes)) throw busy();
    bodies.add(BEGINNING_BYTES);
    try {
      const body = await bodyOf(type, bulkBytes, content!.read(bulkBytes));
      const created = this.#slots.run(() => this.#createAll(collection, request, body, identity));
      if (!created) throw busy();
      this.#running.add(created);
      return await created.finally(() => this.#running.delete(created));
    } finally {
      bodies.add(-BEGINNING_BYTES);
    }
  }

  #createAll(
    collection: ScopedCollection,
    request: Request,
    body: Body,
    identity: ReturnType<Idempotency['identityOf']>,
  ): Promise<Reply> {
    const { databaseUrl, dbTimeoutMs, bodyMinRate, bodyRateMs, bulkRecords, idempotency } = this.services;
    const { resource } = collection;
    const isLenient = prefersLenient(request.headers.prefer);
    const report = new Report(resource);
    const creation = {
      ...{ collection, request, body, isLenient, report },
      limit: resource.hasPasswords ? Math.min(bulkRecords, MAX_PASSWORDS.records) : bulkRecords,
      storing: (store: () => Promise<void>) => {
        if (this.#stopping.signal.aborted) throw unavailable('The service is stopping.');
        return store();
      },
    };
    return withBulkConnection(databaseUrl, this.services, (connection) =>
      inBoundedTransaction(connection, dbTimeoutMs, () => {
        // Locks and events of the transaction last, or wait, until its end.
        if (bodyMinRate > 0) request.body!.stream!.waitAtMost(bodyRateMs);
        const work = async (): Promise<Reply> => {
          await createRecords(connection, this.services, creation);
          const applied = isLenient ? ['Preference-Applied', 'handling=lenient'] : [];
          const headers = ['Content-Type', REPORT_TYPE, 'Cache-Control', 'no-store', ...applied];
          return { status: 201, headers, body: JSON.stringify(report.result(false)) };
        };
        return identity ? idempotency.once(connection.run, identity, work) : work();
      }),
    );
  }

  /** Waits for creations in progress; after `ms` they are rolled back. */
  async stop(ms: number): Promise<void> {
    const timer = setTimeout(() => this.#stopping.abort(), ms);
    await Promise.allSettled(this.#running);
    clearTimeout(timer);
  }
}

const busy = () => unavailable('Too many requests with many records are in progress.');
