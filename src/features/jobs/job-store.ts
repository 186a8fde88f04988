import { randomUUID } from 'node:crypto';
import type { Db, Row, Run } from '../../db/db.js';
import { statements } from '../../db/statements.js';
import { unavailable } from '../../errors/service-errors.js';
import type { PruneTask } from '../../feature.js';
import type { Position } from '../transfer/chunks.js';
import { tooManyJobs } from './errors.js';
import type { Task } from './job-task.js';
import type { ReportState } from './report.js';

// biome-ignore format: one name a line says no more
export const SQL = statements('features/jobs/jobs.sql', [
  'lock_jobs', 'count_jobs', 'open_job', 'add_input', 'queue_job', 'remove_job', 'input', 'claim_job', 'renew_lease',
  'set_actor', 'advance_job', 'end_job', 'release_job', 'cancel_job', 'list_jobs', 'prune_jobs',
]);

/** This process does the job no more: it stops, the job was cancelled, or another process has the job. */
export class LeaseLost extends Error {}

/** How far a job has got. */
export interface JobProgress extends ReportState, Position {}

export type JobState = 'receiving' | 'queued' | 'running' | 'done' | 'failed' | 'cancelled';

/** A job as its principal sees it. */
export interface Job {
  readonly id: string;
  readonly caller: string;
  readonly task: Task;
  readonly state: JobState;
  readonly inputBytes: number;
  readonly progress: JobProgress | undefined;
  /** The report or the error. */
  readonly outcome: unknown;
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
}

/** A job that this process does. */
export interface ClaimedJob extends Pick<Job, 'id' | 'task' | 'inputBytes' | 'progress'> {
  readonly lease: Lease;
  readonly tries: number;
}

/** Seconds after which others take over what a process has not reported about. */
const LEASE_SECONDS = 15;
/** How often a process reports. */
export const RENEW_MS = 5000;

/** The bounds of unfinished jobs. */
export interface JobBounds {
  readonly jobsMax: number;
  readonly jobsPerCaller: number;
}

/** Makes room for a job. Throws 429 and 503. */
export const openJob = (db: Db, id: string, caller: string, task: Task, bounds: JobBounds): Promise<void> =>
  db.transaction(async (run) => {
    await run(SQL.lock_jobs, []);
    const [count] = await run(SQL.count_jobs, [caller]);
    if (Number(count!.own) >= bounds.jobsPerCaller) throw tooManyJobs(bounds.jobsPerCaller);
    if (Number(count!.number) >= bounds.jobsMax) throw unavailable('Too many jobs are unfinished.', 10);
    await run(SQL.open_job, [id, caller, JSON.stringify(task), LEASE_SECONDS * 4]);
  });

/** Bytes of the body in one row. */
export const PART_BYTES = 262_144;

/** Stores the part of the body at a position. False: the job was cancelled. */
export const addInput = async (run: Run, id: string, position: number, bytes: Buffer): Promise<boolean> =>
  (await run(SQL.add_input, [id, position, bytes.toString('base64'), LEASE_SECONDS * 4])).length > 0;

/** The body of a job from a position on. */
export async function* inputFrom(run: Run, id: string, position: number): AsyncGenerator<Buffer> {
  for (let at = position - (position % PART_BYTES); ; at += PART_BYTES) {
    const [row] = await run(SQL.input, [id, at]);
    if (!row) return;
    const bytes = Buffer.from(row.bytes as string, 'base64');
    yield at < position ? bytes.subarray(position - at) : bytes;
  }
}

/** Begins to wait for a process. False: the job was cancelled. */
export const queueJob = async (run: Run, id: string): Promise<boolean> =>
  (await run(SQL.queue_job, [id])).length > 0;

export const removeJob = async (run: Run, id: string): Promise<void> =>
  void (await run(SQL.remove_job, [id]));

/** Takes the next job for this process; undefined: there is none. */
export async function claimJob(run: Run): Promise<ClaimedJob | undefined> {
  const lease = randomUUID();
  const [row] = await run(SQL.claim_job, [lease, LEASE_SECONDS]);
  const id = row?.id as string;
  return row && { id, lease: new Lease(id, lease), tries: Number(row.tries), ...contentOf(row) };
}

const contentOf = ({ task, input_bytes, progress }: Row) => ({
  task: JSON.parse(task as string) as Task,
  inputBytes: Number(input_bytes),
  progress: progress === null ? undefined : (JSON.parse(progress as string) as JobProgress),
});

/** The writes of a process about its job. Each resolves to false if another process has the job, or none. */
class Lease {
  constructor(
    private readonly id: string,
    private readonly lease: string,
  ) {}

  renew = (run: Run) => this.#write(run, SQL.renew_lease, LEASE_SECONDS);
  advance = (run: Run, progress: JobProgress) => this.#write(run, SQL.advance_job, JSON.stringify(progress));
  end = (run: Run, state: 'done' | 'failed', outcome: unknown, progress?: JobProgress) =>
    this.#write(run, SQL.end_job, state, JSON.stringify(outcome), progress ? JSON.stringify(progress) : null);
  /** Has another process continue at once. */
  release = (run: Run) => this.#write(run, SQL.release_job);

  async #write(run: Run, text: string, ...values: readonly (string | number | null)[]): Promise<boolean> {
    return (await run(text, [this.id, this.lease, ...values])).length > 0;
  }
}

/** False: the job has ended before. */
export const cancelJob = async (run: Run, id: string): Promise<boolean> =>
  (await run(SQL.cancel_job, [id])).length > 0;

export async function findJob(run: Run, id: string): Promise<Job | undefined> {
  const [row] = await run(SQL.list_jobs, [null, id]);
  return row && jobOf(row);
}

/** The newest jobs of a caller; undefined: of all. */
export const listJobs = async (run: Run, caller: string | undefined): Promise<Job[]> =>
  (await run(SQL.list_jobs, [caller ?? null, null])).map(jobOf);

const jobOf = (row: Row): Job => ({
  id: row.id as string,
  caller: row.caller as string,
  state: row.state as JobState,
  outcome: row.outcome === null ? undefined : JSON.parse(row.outcome as string),
  createdAt: row.created_at as string,
  startedAt: row.started_at as string | null,
  endedAt: row.ended_at as string | null,
  ...contentOf(row),
});

export const jobPrunes = (ttlSeconds: number): readonly PruneTask[] => [
  { text: SQL.prune_jobs, args: [ttlSeconds] },
];
