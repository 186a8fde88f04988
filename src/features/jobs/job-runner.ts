import { randomUUID } from 'node:crypto';
import { type BulkConnection, withBulkConnection } from '../../db/bulk-connection.js';
import { problemOf } from '../../db/database-errors.js';
import type { Db } from '../../db/db.js';
import { Problem } from '../../errors/problem.js';
import { notFound } from '../../errors/request-errors.js';
import { internal } from '../../errors/service-errors.js';
import type { Request } from '../../http/request.js';
import type { Collection } from '../../list/collection.js';
import type { Log } from '../../telemetry/log.js';
import { DEFAULT_VERSION } from '../../versions/supported.js';
import { inTransaction } from '../transfer/transaction.js';
import type { CreationServices } from './creations.js';
import { recordsRefused, tooManyRecords } from './errors.js';
import {
  type ClaimedJob,
  claimJob,
  inputFrom,
  type JobProgress,
  type Leased,
  leased,
  PART_BYTES,
  RENEW_MS,
} from './job-store.js';
import { RecordBatches } from './record-batches.js';
import { layoutOf } from './record-layout.js';
import { Report } from './report.js';

/** Attempts after which a job has failed whose process ends again and again. */
const MAX_TRIES = 5;

/** The parts of the service that jobs need. */
export interface RunnerServices extends CreationServices {
  readonly db: Db;
  readonly log: Log;
  /** Called when records were written. */
  readonly wrote: () => void;
}

/** The job is not that of this process any more: it was cancelled, or another process has taken it over. */
class LeaseLost extends Error {}

/** The service is stopping. */
class Stopping extends Error {}

/** Does the next job, if there is one. Resolves to whether there was. */
export async function runNextJob(services: RunnerServices, stopping: AbortSignal): Promise<boolean> {
  const lease = randomUUID();
  const job = await claimJob(services.db.run, lease);
  if (!job) return false;
  const held = leased(job.id, lease);
  const lost = new AbortController();
  const renewing = setInterval(() => {
    held.renew(services.db.run).then(
      (isHeld) => isHeld || lost.abort(),
      (err) => services.log.warn({ err, job: job.id }, 'the lease of a job was not renewed'),
    );
  }, RENEW_MS);
  try {
    await new JobRun(services, job, held, () => {
      if (stopping.aborted) throw new Stopping();
      if (lost.signal.aborted) throw new LeaseLost();
    }).run();
  } catch (error) {
    await afterFailure(services, job, held, error);
  } finally {
    clearInterval(renewing);
  }
  return true;
}

async function afterFailure(
  { db, log, metrics }: RunnerServices,
  { id, tries }: ClaimedJob,
  held: Leased,
  error: unknown,
): Promise<void> {
  if (error instanceof LeaseLost) return;
  if (error instanceof Stopping) return held.release(db.run);
  const problem = error instanceof Problem ? error : problemOf(error);
  const isPassing = !problem || problem.status >= 500;
  if (isPassing) log.warn({ err: error, job: id, tries }, 'a job was interrupted');
  // The next attempt begins when the lease has ended.
  if (isPassing && tries < MAX_TRIES) return;
  if (await held.end(db.run, 'failed', errorOf(problem ?? internal()))) metrics.jobs.of('failed').value++;
}

const errorOf = ({ status, code, message, more: { details } }: Problem) => ({
  ...{ status, code, message },
  ...(details !== undefined && { details }),
});

/** One attempt at a job. */
class JobRun {
  readonly #collection: Collection;

  constructor(
    readonly services: RunnerServices,
    readonly job: ClaimedJob,
    readonly held: Leased,
    /** Throws if the attempt must end. */
    readonly requireHeld: () => void,
  ) {
    const { collection } = job.task;
    const found = services.collections.find(({ resource }) => resource.name === collection);
    if (!found) throw notFound.variant({ message: `There is no collection ${collection} any more.` });
    this.#collection = found;
  }

  async run(): Promise<void> {
    const { services, job } = this;
    const { db, databaseUrl } = services;
    const { value: head = Buffer.alloc(0) } = await inputFrom(db.run, job.id, 0).next();
    const { resource } = this.#collection;
    const layout = layoutOf(job.task.type, head, job.inputBytes <= PART_BYTES, resource);
    const batches = new RecordBatches(this.#collection, services, layout, this.#request());
    await withBulkConnection(databaseUrl, services, (connection) =>
      job.task.isLenient ? this.#storeInBatches(connection, batches) : this.#storeAtOnce(connection, batches),
    );
    services.wrote();
  }

  /** The request for the job, as far as it matters to the records. */
  #request(): Request {
    const { collection, type, subject, scopes, permission } = this.job.task;
    return {
      id: this.job.id,
      method: 'POST',
      path: `/${collection}`,
      version: DEFAULT_VERSION,
      prefix: '',
      params: {},
      query: '',
      headers: {},
      type,
      principal: { subject, scopes: new Set(scopes), scheme: 'none', expiresAt: undefined },
      permission,
      run: undefined,
      body: undefined,
    };
  }

  /** One transaction for each chunk, which also writes how far the job has got. */
  async #storeInBatches(connection: BulkConnection, batches: RecordBatches): Promise<void> {
    const { services, job, held } = this;
    const { place, position } = job.progress ?? batches.layout.from;
    const report = new Report(this.#collection.resource, job.progress);
    let progress = job.progress;
    const bytes = inputFrom(services.db.run, job.id, position);
    for await (const chunk of batches.chunks(bytes, { place, position })) {
      this.requireHeld();
      const read = await batches.read(chunk);
      await this.#inTransaction(connection, async () => {
        const stored = await batches.store(connection, read);
        report.add(stored, read.refusals.list);
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
        records += chunk.starts.length;
        if (records > services.bulkRecords) throw tooManyRecords(services.bulkRecords);
        const read = await batches.read(chunk);
        report.add(await batches.store(connection, read), read.refusals.list);
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
    return inTransaction(connection, false, async () => {
      await connection.execute(`set local lock_timeout = ${ms}`);
      await work();
    });
  }
}
