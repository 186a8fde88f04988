import { withBulkConnection } from '../../db/bulk-connection.js';
import { problemOf } from '../../db/database-errors.js';
import type { Db, Run } from '../../db/db.js';
import { Problem } from '../../errors/problem.js';
import { notFound } from '../../errors/request-errors.js';
import { internal } from '../../errors/service-errors.js';
import type { Log } from '../../telemetry/log.js';
import type { CreationServices } from './create-many.js';
import { unknownJob } from './errors.js';
import { type ClaimedJob, inputFrom, LeaseLost, PART_BYTES, RENEW_MS } from './job-store.js';
import { CREATION, requestOf, requireNoClaims, requireUser } from './job-task.js';
import { createRecords, inBoundedTransaction } from './record-batches.js';
import { Report } from './report.js';

/** The parts of the service that jobs need. */
export interface RunnerServices extends CreationServices {
  readonly db: Db;
  readonly log: Log;
  readonly jobBytes: number;
  /** Called when records were written. */
  readonly wrote: () => void;
}

/** Attempts after which a job has failed whose process ends again and again. */
const MAX_TRIES = 5;

/** Makes one attempt at a job. */
export async function runJob(
  services: RunnerServices,
  job: ClaimedJob,
  stopping: AbortSignal,
): Promise<void> {
  const lost = new AbortController();
  const renewing = setInterval(() => {
    job.lease.renew(services.db.run).then(
      (isHeld) => isHeld || lost.abort(),
      (err) => services.log.warn({ err, job: job.id }, 'the lease of a job was not renewed'),
    );
  }, RENEW_MS);
  try {
    await doJob(services, job, () => {
      if (stopping.aborted || lost.signal.aborted) throw new LeaseLost();
    });
  } catch (error) {
    await afterFailure(services, job, error);
  } finally {
    clearInterval(renewing);
  }
}

/** Creates the records of a job: all in one transaction, or if it is lenient each chunk in its own, which writes the progress. */
async function doJob(
  services: RunnerServices,
  { id, task, inputBytes, progress: before, lease }: ClaimedJob,
  requireHeld: () => void,
): Promise<void> {
  if (task.kind !== CREATION) throw unknownJob(task.kind);
  const { db, databaseUrl, collections, jobBytes, bulkRecords, dbTimeoutMs, metrics, wrote } = services;
  const { type, isLenient } = task;
  const collection = collections.find(({ resource }) => resource.name === task.collection);
  if (!collection) throw notFound.variant({ message: `There is no collection ${task.collection} any more.` });
  requireNoClaims(collection, collections);
  const { value: head = Buffer.alloc(0) } = await inputFrom(db.run, id, 0).next();
  const body = { type, head, isWhole: inputBytes <= PART_BYTES, maxBytes: jobBytes };
  const request = requestOf(id, task);
  const start = isLenient ? before : undefined;
  const report = new Report(collection.resource, start);
  let progress = start;
  await withBulkConnection(databaseUrl, services, async (connection) => {
    const transaction = (work: () => Promise<void>) => inBoundedTransaction(connection, dbTimeoutMs, work);
    const createAll = async () => {
      await createRecords(connection, {
        ...{ collection, settings: services, body, request },
        from: start && { place: start.place, position: start.position },
        bytesFrom: (position) => inputFrom(db.run, id, position),
        limit: isLenient ? Number.POSITIVE_INFINITY : bulkRecords,
        isLenient,
        report,
        storing: async (store, next) => {
          requireHeld();
          const all = async (run: Run) => {
            await requireUser(collections, task, connection.run);
            await store();
            progress = { ...next, ...report.state };
            if (!(await lease.advance(run, progress))) throw new LeaseLost();
          };
          if (!isLenient) return all(db.run); // outside of the transaction, so that others see it
          await transaction(() => all(connection.run));
          wrote();
        },
      });
      const isEnded = await lease.end(connection.run, 'done', report.result(false), progress);
      if (!isEnded) throw new LeaseLost();
      metrics.jobs.of('done').value++;
      metrics.records.of('stored').value += report.stored;
      metrics.records.of('refused').value += report.refused;
    };
    await (isLenient ? createAll() : transaction(createAll));
  });
  wrote();
}

async function afterFailure(
  { db, log, metrics }: RunnerServices,
  { id, tries, lease }: ClaimedJob,
  error: unknown,
): Promise<void> {
  // Without effect if the lease is that of another process.
  if (error instanceof LeaseLost) return void (await lease.release(db.run));
  const problem = error instanceof Problem ? error : problemOf(error);
  const isPassing = !problem || problem.status >= 500;
  if (isPassing) log.warn({ err: error, job: id, tries }, 'a job was interrupted');
  // The next attempt begins when the lease has ended.
  if (isPassing && tries < MAX_TRIES) return;
  const { status, code, message, more } = problem ?? internal();
  const outcome = { status, code, message, ...(more.details !== undefined && { details: more.details }) };
  if (await lease.end(db.run, 'failed', outcome)) metrics.jobs.of('failed').value++;
}
