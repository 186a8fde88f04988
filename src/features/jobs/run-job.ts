import { randomUUID } from 'node:crypto';
import { problemOf } from '../../db/database-errors.js';
import { Problem } from '../../errors/problem.js';
import { internal } from '../../errors/service-errors.js';
import { JSON_TYPE } from '../../http/media-types.js';
import { ChangeRun } from './change-run.js';
import { CreationRun, type RunnerServices } from './creation-run.js';
import { wholeList, writeResult } from './export-run.js';
import {
  collectionGone,
  type ExportOutcome,
  exportResources,
  readingGrants,
  requireNoClaims,
} from './job-rules.js';
import { type ClaimedJob, claimJob, type Leased, LeaseLost, leased, RENEW_MS } from './job-store.js';
import { type ExportTask, requestOf } from './job-task.js';
import { requireUser } from './job-user.js';
import { addRecords, notedList } from './result-records.js';

/** Attempts after which a job has failed whose process ends again and again. */
const MAX_TRIES = 5;

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
    const requireHeld = () => {
      if (stopping.aborted) throw new Stopping();
      if (lost.signal.aborted) throw new LeaseLost();
    };
    const { task } = job;
    if (task.kind === 'export') await runExport(services, { ...job, task }, held, requireHeld);
    else if (task.kind === 'change') await new ChangeRun(services, { ...job, task }, held, requireHeld).run();
    else await new CreationRun(services, { ...job, task }, held, requireHeld).run();
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

async function runExport(
  { db, actions, collections, jobBytes, metrics }: RunnerServices,
  job: ClaimedJob<ExportTask>,
  held: Leased,
  requireHeld: () => void,
): Promise<void> {
  const { collection, method, type } = job.task;
  const list = actions.get(`${method} ${collection}`);
  const guarded = collections.find(({ resource }) => resource.name === collection);
  if (!list || !guarded) throw collectionGone(collection);
  const request = requestOf(job);
  requireNoClaims(exportResources(guarded, collections, request));
  await requireUser(collections, job.task, db.run);
  const { principal } = request;
  const { list: whole, end } = notedList(
    await wholeList(list, request),
    guarded,
    principal,
    (place, fields, ids) => addRecords(db.run, job, place, fields, ids),
  );
  const bytes = await writeResult(db, job, whole, {
    isArray: type === JSON_TYPE,
    maxBytes: jobBytes,
    onWritten: requireHeld,
  });
  const outcome: ExportOutcome = { bytes, grants: readingGrants(guarded, principal), rows: await end() };
  if (!(await held.end(db.run, 'done', outcome, { hasResult: true }))) throw new LeaseLost();
  metrics.jobs.of('done').value++;
}
