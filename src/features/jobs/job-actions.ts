import { callerKey, fingerprintOf, type Idempotency, identityOf } from '../../actions/idempotency.js';
import { JSON_TYPE } from '../../collection/representation.js';
import type { Db } from '../../db/db.js';
import { notFound } from '../../errors/request-errors.js';
import { prefersLenient } from '../../http/prefer.js';
import type { Reply } from '../../http/reply.js';
import type { Content, Request } from '../../http/request.js';
import type { Collection } from '../../list/collection.js';
import { nextIdentity, parseUuid } from '../../uuid.js';
import { jobCancelled } from './errors.js';
import {
  addInput,
  cancelJob,
  findJob,
  type Job,
  type JobBounds,
  listJobs,
  openJob,
  PART_BYTES,
  queueJob,
  removeJob,
  type Task,
} from './job-store.js';

/** The services of the endpoints of jobs, and of requests for jobs. */
export interface JobServices extends JobBounds {
  readonly db: Db;
  readonly idempotency: Idempotency;
  /** Bytes of the body of a request for a job. */
  readonly jobBytes: number;
  readonly jobTtl: number;
  /** Called when there is a job to do. */
  readonly wake: () => void;
}

/** Stores the body of a request, for a job that creates its records: 202 with Location, 408, 413, 429, 503. */
export async function submitCreation(
  services: JobServices,
  collection: Collection,
  request: Request,
): Promise<Reply> {
  const { db, jobBytes, idempotency } = services;
  const { permission, principal, headers, body } = request;
  const content = body!.stream!;
  const identity = identityOf(request, async () => fingerprintOf(request, await content.digest(jobBytes)));
  const { id } = nextIdentity();
  const { subject, scopes } = principal;
  const task: Task = {
    collection: collection.resource.name,
    type: body!.type,
    isLenient: prefersLenient(headers.prefer),
    ...{ subject, permission, scopes: [...scopes] },
  };
  await openJob(db, id, callerKey(subject), task, services);
  let isQueued = false;
  try {
    await storeInput(services, id, content);
    const queue = async (run: Db['run']): Promise<Reply> => {
      if (!(await queueJob(run, id))) throw jobCancelled();
      isQueued = true;
      return jobReply(services, request, (await findJob(run, id))!, 202);
    };
    const reply = identity
      ? await db.transaction((run) => idempotency.once(run, identity, () => queue(run)))
      : await queue(db.run);
    services.wake();
    return reply;
  } finally {
    if (!isQueued) await removeJob(db.run, id);
  }
}

async function storeInput({ db, jobBytes }: JobServices, id: string, content: Content): Promise<void> {
  let [parts, bytes, position]: [Buffer[], number, number] = [[], 0, 0];
  const store = async (part: Buffer): Promise<void> => {
    if (!(await addInput(db.run, id, position, part))) throw jobCancelled();
    position += part.length;
  };
  for await (const chunk of content.read(jobBytes)) {
    parts.push(chunk);
    bytes += chunk.length;
    if (bytes < PART_BYTES) continue;
    let rest = Buffer.concat(parts);
    for (; rest.length >= PART_BYTES; rest = rest.subarray(PART_BYTES))
      await store(rest.subarray(0, PART_BYTES));
    [parts, bytes] = [[Buffer.from(rest)], rest.length];
  }
  if (bytes > 0) await store(Buffer.concat(parts));
}

/** GET /jobs: the newest 100 of the caller, or of all for `admin`. */
export async function getJobs(services: JobServices, request: Request): Promise<Reply> {
  const { principal, prefix } = request;
  const isAdmin = principal.scopes.has('admin');
  const jobs = await listJobs(services.db.run, isAdmin ? undefined : callerKey(principal.subject));
  const data = jobs.map((job) => shown(services, job, prefix));
  return { status: 200, headers: FIELDS, body: JSON.stringify({ data }) };
}

/** GET /jobs/:id. Throws 404, also for the job of another principal. */
export async function getJob(services: JobServices, request: Request): Promise<Reply> {
  return jobReply(services, request, await ownJob(services, request), 200);
}

/** DELETE /jobs/:id: cancels a job, or removes one that has ended. Throws 404. */
export async function deleteJob(services: JobServices, request: Request): Promise<Reply> {
  const { id } = await ownJob(services, request);
  if (!(await cancelJob(services.db.run, id))) await removeJob(services.db.run, id);
  return { status: 204, headers: [] };
}

async function ownJob({ db }: JobServices, { params, principal }: Request): Promise<Job> {
  const id = parseUuid(params.id ?? '');
  const job = id === undefined ? undefined : await findJob(db.run, id);
  const isOwn = principal.scopes.has('admin') || job?.caller === callerKey(principal.subject);
  if (!job || !isOwn) throw notFound.variant({ message: 'No such job.', shape: 'simple' });
  return job;
}

const FIELDS = ['Content-Type', JSON_TYPE, 'Cache-Control', 'no-store'];

function jobReply(services: JobServices, { prefix }: Request, job: Job, status: 200 | 202): Reply {
  const accepted =
    status === 202
      ? [
          ...['Location', `${prefix}/jobs/${job.id}`],
          ...['Preference-Applied', job.task.isLenient ? 'respond-async, handling=lenient' : 'respond-async'],
        ]
      : [];
  return { status, headers: [...FIELDS, ...accepted], body: JSON.stringify(shown(services, job, prefix)) };
}

function shown({ jobTtl }: JobServices, job: Job, prefix: string): object {
  const { id, task, state, inputBytes, progress, outcome, createdAt, startedAt, endedAt } = job;
  const isUndone = !task.isLenient && state !== 'done' && state !== 'running';
  const { position = 0, stored = 0, refused = 0 } = progress ?? {};
  return {
    ...{ id, collection: task.collection, state },
    progress: {
      ...{ bytes: Math.min(position, inputBytes), total_bytes: inputBytes },
      ...{ stored: isUndone ? 0 : stored, refused },
    },
    ...(state === 'done' && { report: outcome }),
    ...(state === 'failed' && { error: outcome }),
    ...{ created_at: createdAt, started_at: startedAt, ended_at: endedAt },
    expires_at: endedAt && new Date(Date.parse(endedAt) + jobTtl * 1000).toISOString(),
    _links: { self: { href: `${prefix}/jobs/${id}`, method: 'GET' } },
  };
}
