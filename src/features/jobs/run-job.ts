import { randomUUID } from 'node:crypto';
import { problemOf } from '../../db/database-errors.js';
import { Problem } from '../../errors/problem.js';
import { internal } from '../../errors/service-errors.js';
import { CreationRun, type RunnerServices } from './creation-run.js';
import { unknownJob } from './errors.js';
import { type ClaimedJob, claimJob, type Leased, LeaseLost, leased, RENEW_MS } from './job-store.js';
import { isCreation } from './job-task.js';

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
    if (!isCreation(task)) throw unknownJob(task.kind);
    await new CreationRun(services, { ...job, task }, held, requireHeld).run();
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
