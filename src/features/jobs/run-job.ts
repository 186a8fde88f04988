import { withBulkConnection } from '../../db/bulk-connection.js';
import { knownProblem } from '../../db/database-errors.js';
import type { Run } from '../../db/db.js';
import { accessDenied } from '../../errors/record-errors.js';
import { notFound } from '../../errors/request-errors.js';
import { internal } from '../../errors/service-errors.js';
import type { ScopedCollection } from '../../feature.js';
import { parseUuid } from '../../uuid.js';
import { unknownJob } from './errors.js';
import { type ClaimedJob, inputOf, LeaseLost, RENEW_MS, SQL } from './job-store.js';
import { CREATION, requestOf, requireNoClaims, type Task } from './job-task.js';
import { bodyOf, type Creation, createRecords, inBoundedTransaction } from './record-batches.js';
import { Report } from './report.js';
import type { JobServices } from './settings.js';

/** Attempts after which a job has failed whose process ends again and again. */
const MAX_TRIES = 5;

/** Makes one attempt at a job. */
export async function runJob(services: JobServices, job: ClaimedJob, stopping: AbortSignal): Promise<void> {
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
  services: JobServices,
  { id, task, progress: before, lease }: ClaimedJob,
  requireHeld: () => void,
): Promise<void> {
  if (task.kind !== CREATION) throw unknownJob(task.kind);
  const { db, databaseUrl, collections, jobBytes, bulkRecords, dbTimeoutMs, metrics, wrote } = services;
  const { type, isLenient } = task;
  const collection = collections.find(({ resource }) => resource.name === task.collection);
  if (!collection) throw notFound.variant({ message: `There is no collection ${task.collection} any more.` });
  requireNoClaims(collection, collections);
  let progress = isLenient ? before : undefined;
  const report = new Report(collection.resource, progress);
  const creation: Creation = {
    ...{ collection, request: requestOf(id, task), isLenient, report, from: progress?.place },
    body: await bodyOf(type, jobBytes, inputOf(db.run, id)),
    limit: isLenient ? Number.POSITIVE_INFINITY : bulkRecords,
    storing: async (store, next, connection) => {
      requireHeld();
      const all = async (run: Run) => {
        await requireUser(collections, task, connection.run);
        await store();
        const { stored, refused, omitted, faults } = report;
        progress = { ...next, stored, refused, omitted, faults };
        if (!(await lease.advance(run, progress))) throw new LeaseLost();
      };
      if (!isLenient) return all(db.run); // outside of the transaction, so that others see it
      await inBoundedTransaction(connection, dbTimeoutMs, () => all(connection.run));
      wrote();
    },
  };
  await withBulkConnection(databaseUrl, services, (connection) => {
    const all = async () => {
      await createRecords(connection, services, creation);
      if (!(await lease.end(connection.run, 'done', report.result(false), progress))) throw new LeaseLost();
    };
    return isLenient ? all() : inBoundedTransaction(connection, dbTimeoutMs, all);
  });
  metrics.jobs.of('done').value++;
  wrote();
}

/** Throws 403 if the user whose job this is was deleted or disabled. */
async function requireUser(
  collections: readonly ScopedCollection[],
  { subject, userCollection }: Pick<Task, 'subject' | 'userCollection'>,
  run: Run,
): Promise<void> {
  if (userCollection === undefined) return;
  const callers = collections.find(({ resource }) => resource.name === userCollection);
  const id = parseUuid(subject)!;
  if (!(await callers?.whole.exists(id, run))) throw accessDenied('The user whose job this is was deleted.');
  if ((await run(SQL.disabled_user, [id])).length > 0)
    throw accessDenied('The user whose job this is was disabled.');
}

async function afterFailure(
  { db, log, metrics }: JobServices,
  { id, tries, lease }: ClaimedJob,
  error: unknown,
): Promise<void> {
  // Without effect if the lease is that of another process.
  if (error instanceof LeaseLost) return void (await lease.release(db.run));
  const problem = knownProblem(error);
  const isPassing = !problem || problem.status >= 500;
  if (isPassing) log.warn({ err: error, job: id, tries }, 'a job was interrupted');
  // The next attempt begins when the lease has ended.
  if (isPassing && tries < MAX_TRIES) return;
  const { status, code, message, more } = problem ?? internal();
  const outcome = { status, code, message, ...(more.details !== undefined && { details: more.details }) };
  if (await lease.end(db.run, 'failed', outcome)) metrics.jobs.of('failed').value++;
}
