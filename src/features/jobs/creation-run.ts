import type { Guarded } from '../../access/guarded-collection.js';
import { type BulkConnection, withBulkConnection } from '../../db/bulk-connection.js';
import type { Db } from '../../db/db.js';
import { inTransaction } from '../../db/session.js';
import type { Log } from '../../telemetry/log.js';
import type { CreationServices } from './create-many.js';
import { recordsRefused, tooManyRecords } from './errors.js';
import { inputFrom, PART_BYTES } from './job-parts.js';
import { collectionGone, requireNoClaims } from './job-rules.js';
import { type ClaimedJob, type JobProgress, type Leased, LeaseLost } from './job-store.js';
import { type CreationTask, requestOf } from './job-task.js';
import { requireUser } from './job-user.js';
import { RecordBatches } from './record-batches.js';
import { layoutOf } from './record-layout.js';
import { Report } from './report.js';

/** The parts of the service that jobs need. */
export interface RunnerServices extends CreationServices {
  readonly db: Db;
  readonly log: Log;
  readonly jobBytes: number;
  /** Called when records were written. */
  readonly wrote: () => void;
}

/** One attempt at a creation. */
export class CreationRun {
  readonly #collection: Guarded;

  constructor(
    readonly services: RunnerServices,
    readonly job: ClaimedJob<CreationTask>,
    readonly held: Leased,
    /** Throws if the attempt must end. */
    readonly requireHeld: () => void,
  ) {
    const { collection } = job.task;
    const found = services.collections.find(({ resource }) => resource.name === collection);
    if (!found) throw collectionGone(collection);
    requireNoClaims(found, services.collections);
    this.#collection = found;
  }

  async run(): Promise<void> {
    const { services, job } = this;
    const { db, databaseUrl, jobBytes } = services;
    const { value: head = Buffer.alloc(0) } = await inputFrom(db.run, job.id, 0).next();
    const { resource } = this.#collection;
    const layout = layoutOf(job.task.type, head, job.inputBytes <= PART_BYTES, resource);
    const batches = new RecordBatches(
      this.#collection,
      services,
      layout,
      requestOf(job.id, job.task),
      jobBytes,
    );
    await withBulkConnection(databaseUrl, services, (connection) =>
      job.task.isLenient ? this.#storeInBatches(connection, batches) : this.#storeAtOnce(connection, batches),
    );
    services.wrote();
  }

  /** One transaction for each chunk, which also writes how far the job has got. */
  async #storeInBatches(connection: BulkConnection, batches: RecordBatches): Promise<void> {
    const { services, job, held } = this;
    const { place, position } = { ...batches.layout.from, ...job.progress };
    const report = new Report(this.#collection.resource, job.progress);
    let progress = job.progress;
    const bytes = inputFrom(services.db.run, job.id, position);
    for await (const chunk of batches.chunks(bytes, { place, position })) {
      this.requireHeld();
      const read = await batches.read(chunk);
      await this.#inTransaction(connection, async () => {
        await requireUser(services.collections, job.task, connection.run);
        const stored = await batches.store(connection, read);
        await report.add(stored, read.refusals.list);
        progress = { ...chunk.next, ...report.state };
        if (!(await held.advance(connection.run, progress))) throw new LeaseLost();
      });
      services.wrote();
    }
    await this.#end(connection, report, progress);
  }

  async #storeAtOnce(connection: BulkConnection, batches: RecordBatches): Promise<void> {
    const { services, job, held } = this;
    const { from } = batches.layout;
    const report = new Report(this.#collection.resource);
    let progress: JobProgress | undefined;
    let records = 0;
    await this.#inTransaction(connection, async () => {
      for await (const chunk of batches.chunks(inputFrom(services.db.run, job.id, from.position), from)) {
        this.requireHeld();
        records += chunk.records.length;
        if (records > services.bulkRecords) throw tooManyRecords(services.bulkRecords);
        const read = await batches.read(chunk);
        await requireUser(services.collections, job.task, connection.run);
        await report.add(await batches.store(connection, read), read.refusals.list);
        progress = { ...chunk.next, ...report.state };
        // Outside of the transaction, so that others see it.
        if (!(await held.advance(services.db.run, progress))) throw new LeaseLost();
        if (report.isFull) break;
      }
      if (report.refused > 0) throw recordsRefused(report.result(true));
      await this.#end(connection, report, progress);
    });
  }

  async #end(connection: BulkConnection, report: Report, progress: JobProgress | undefined): Promise<void> {
    if (!(await this.held.end(connection.run, 'done', report.result(false), progress))) throw new LeaseLost();
    const { stored, refused } = report.result(false).meta;
    this.services.metrics.jobs.of('done').value++;
    this.services.metrics.records.of('stored').value += stored;
    this.services.metrics.records.of('refused').value += refused;
  }

  #inTransaction(connection: BulkConnection, work: () => Promise<void>): Promise<void> {
    const ms = Math.max(1, Math.floor(this.services.dbTimeoutMs / 2));
    return inTransaction(connection.execute, false, async () => {
      await connection.execute(`set local lock_timeout = ${ms}`);
      await work();
    });
  }
}
