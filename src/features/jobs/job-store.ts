import { randomUUID } from 'node:crypto';
import type { Row, Run } from '../../db/db.js';
import { statements } from '../../db/statements.js';
import { unavailable } from '../../errors/service-errors.js';
import type { Position } from '../transfer/chunks.js';
import { tooManyJobs } from './errors.js';
import type { Task } from './job-task.js';
import type { ReportState } from './report.js';
import type { JobServices } from './settings.js';

// biome-ignore format: one name a line says no more
export const SQL = statements('features/jobs/jobs.sql', [
  'lock_jobs', 'count_jobs', 'open_job', 'add_input', 'queue_job', 'remove_job', 'input', 'claim_job', 'renew_lease',
  'disabled_user', 'set_actor', 'advance_job', 'end_job', 'release_job', 'cancel_job', 'list_jobs', 'prune_jobs',
]);

/** This process does the job no more: it stops, the job was cancelled, or another process has the job. */
export class LeaseLost extends Error {}

/** How far a job has got. */
export interface JobProgress extends ReportState, Position {}

/** A job as it is stored. */
export interface Job {
  readonly id: string;
  readonly caller: string;
  readonly task: Task;
  readonly state: 'receiving' | 'queued' | 'running' | 'done' | 'failed' | 'cancelled';
  readonly input_bytes: number;
  readonly progress: JobProgress | undefined;
  /** The report or the error. */
  readonly outcome: unknown;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly ended_at: string | null;
}

/** A job that this process does. */
export interface ClaimedJob extends Pick<Job, 'id' | 'task' | 'progress'> {
  readonly lease: ReturnType<typeof leaseOf>;
  readonly tries: number;
}

/** Seconds after which others take over what a process has not reported about. */
const LEASE_SECONDS = 15;
/** How often a process reports. */
export const RENEW_MS = 5000;

/** Makes room for a job. Throws 429 and 503. */
export const openJob = (
  { db, jobsMax, jobsPerCaller }: Pick<JobServices, 'db' | 'jobsMax' | 'jobsPerCaller'>,
  id: string,
  caller: string,
  task: Task,
): Promise<void> =>
  db.transaction(async (run) => {
    await run(SQL.lock_jobs, []);
    const [count] = await run(SQL.count_jobs, [caller]);
    if (Number(count!.own) >= jobsPerCaller) throw tooManyJobs(jobsPerCaller);
    if (Number(count!.number) >= jobsMax) throw unavailable('Too many jobs are unfinished.', 10);
    await run(SQL.open_job, [id, caller, JSON.stringify(task), LEASE_SECONDS * 4]);
  });

/** Bytes of the body in one row. */
export const PART_BYTES = 262_144;

/** Whether a statement has changed a job. */
const changes = async (run: Run, text: string, ...args: Parameters<Run>[1]): Promise<boolean> =>
  (await run(text, args)).length > 0;

/** Stores the part of the body at a position. False: the job was cancelled. */
export const addInput = (run: Run, id: string, position: number, bytes: Buffer): Promise<boolean> =>
  changes(run, SQL.add_input, id, position, bytes.toString('base64'), LEASE_SECONDS * 4);

/** The body of a job. */
export async function* inputOf(run: Run, id: string): AsyncGenerator<Buffer> {
  for (let at = 0; ; at += PART_BYTES) {
    const [row] = await run(SQL.input, [id, at]);
    if (!row) return;
    yield Buffer.from(row.bytes as string, 'base64');
  }
}

/** Begins to wait for a process. False: the job was cancelled. */
export const queueJob = (run: Run, id: string): Promise<boolean> => changes(run, SQL.queue_job, id);

export const removeJob = async (run: Run, id: string): Promise<void> =>
  void (await run(SQL.remove_job, [id]));

/** Takes the next job for this process; undefined: there is none. */
export async function claimJob(run: Run): Promise<ClaimedJob | undefined> {
  const lease = randomUUID();
  const [row] = await run(SQL.claim_job, [lease, LEASE_SECONDS]);
  if (!row) return undefined;
  const job = jobOf(row);
  return { ...job, lease: leaseOf(job.id, lease), tries: Number(row.tries) };
}

/** The writes of a process about its job. Each resolves to false if another process has the job, or none. */
const leaseOf = (id: string, lease: string) => ({
  renew: (run: Run) => changes(run, SQL.renew_lease, id, lease, LEASE_SECONDS),
  advance: (run: Run, progress: JobProgress) =>
    changes(run, SQL.advance_job, id, lease, JSON.stringify(progress)),
  end: (run: Run, state: 'done' | 'failed', outcome: unknown, progress?: JobProgress) =>
    changes(
      ...[run, SQL.end_job, id, lease, state, JSON.stringify(outcome)],
      progress ? JSON.stringify(progress) : null,
    ),
  /** Has another process continue at once. */
  release: (run: Run) => changes(run, SQL.release_job, id, lease),
});

/** False: the job has ended before. */
export const cancelJob = (run: Run, id: string): Promise<boolean> => changes(run, SQL.cancel_job, id);

export async function findJob(run: Run, id: string): Promise<Job | undefined> {
  const [row] = await run(SQL.list_jobs, [null, id]);
  return row && jobOf(row);
}

/** The newest jobs of a caller; undefined: of all. */
export const listJobs = async (run: Run, caller: string | undefined): Promise<Job[]> =>
  (await run(SQL.list_jobs, [caller ?? null, null])).map(jobOf);

const parsed = (text: unknown) => (typeof text === 'string' ? JSON.parse(text) : undefined);

const jobOf = (row: Row): Job => ({
  ...(row as unknown as Job),
  ...{ task: parsed(row.task), progress: parsed(row.progress), outcome: parsed(row.outcome) },
  input_bytes: Number(row.input_bytes),
});
