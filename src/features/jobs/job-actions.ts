import { callerKey } from '../../auth/principal.js';
import type { Run } from '../../db/db.js';
import { notFound } from '../../errors/request-errors.js';
import type { ScopedCollection } from '../../feature.js';
import { JSON_TYPE } from '../../http/media-types.js';
import type { Reply } from '../../http/reply.js';
import { prefersLenient, type Request } from '../../http/request.js';
import { readsAll } from '../../policy/policy.js';
import { nextIdentity, parseUuid } from '../../uuid.js';
import { jobCancelled } from './errors.js';
import {
  addInput,
  cancelJob,
  findJob,
  type Job,
  listJobs,
  openJob,
  PART_BYTES,
  queueJob,
  removeJob,
} from './job-store.js';
import { CREATION, requireNoClaims, type Task, userOf } from './job-task.js';
import type { JobServices } from './settings.js';

/** GET /jobs: the newest 100 of the caller, or of all for `admin`. */
export async function getJobs(services: JobServices, request: Request): Promise<Reply> {
  const { principal } = request;
  const isAdmin = principal.scopes.has('admin');
  const jobs = await listJobs(services.db.run, isAdmin ? undefined : callerKey(principal));
  const data = jobs.map((job) => shown(services, job, request));
  return { status: 200, headers: FIELDS, body: JSON.stringify({ data }) };
}

/** GET /jobs/:id. Throws 404, also for the job of another principal. */
export async function getJob(services: JobServices, request: Request): Promise<Reply> {
  const job = await ownJob(services, request);
  return { status: 200, headers: FIELDS, body: JSON.stringify(shown(services, job, request)) };
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
  const isOwn = principal.scopes.has('admin') || job?.caller === callerKey(principal);
  if (!job || !isOwn) throw notFound.variant({ message: 'No such job.', shape: 'simple' });
  return job;
}

const FIELDS = ['Content-Type', JSON_TYPE, 'Cache-Control', 'no-store'];

function shown(services: JobServices, job: Job, request: Request): object {
  const { id, task, state, input_bytes: total_bytes, progress, created_at, started_at, ended_at } = job;
  const { prefix } = request;
  const outcome = outcomeFor(services, job, request);
  const { position = 0, stored = 0, refused = 0 } = progress ?? {};
  return {
    ...{ id, kind: task.kind, collection: task.collection, state },
    ...(task.kind === CREATION && {
      progress: {
        ...{ bytes: Math.min(position, total_bytes), total_bytes },
        ...{ stored: task.isLenient || state === 'done' || state === 'running' ? stored : 0, refused },
      },
      ...(state === 'done' && { report: outcome }),
    }),
    ...(state === 'failed' && { error: outcome }),
    ...{ created_at, started_at, ended_at },
    expires_at: ended_at && new Date(Date.parse(ended_at) + services.jobTtl * 1000).toISOString(),
    _links: { self: { href: `${prefix}/jobs/${id}`, method: 'GET' } },
  };
}

/**
 * The outcome of a job as a caller may know it: no scope is above access rules, so that only its principal and callers who read all
 * records see values of those that were refused.
 */
function outcomeFor(
  { collections }: JobServices,
  { caller, task, outcome }: Job,
  { principal }: Request,
): Job['outcome'] {
  const collection = collections.find(({ resource }) => resource.name === task.collection);
  const isKnown = caller === callerKey(principal) || (collection && readsAll(collection.resource, principal));
  return isKnown ? outcome : JSON.parse(JSON.stringify(outcome ?? null), withoutValues);
}

const withoutValues = (name: string, each: unknown) => (name === 'value' ? undefined : each);

/** Stores the body of a request, for a job that creates its records: 202 with Location, 400, 408, 413, 429, 503. */
export async function submitCreation(
  services: JobServices,
  collection: ScopedCollection,
  request: Request,
): Promise<Reply> {
  const { headers, body, permission, principal } = request;
  const { db, idempotency, jobBytes, collections } = services;
  requireNoClaims(collection, collections);
  const content = body!.stream!;
  const identity = idempotency.identityOf(request, () => content.digest(jobBytes));
  const task: Task = {
    kind: CREATION,
    collection: collection.resource.name,
    type: body!.type,
    isLenient: prefersLenient(headers.prefer),
    ...{ subject: principal.subject, scopes: [...principal.scopes], scheme: principal.scheme, permission },
    ...(await userOf(collections, principal)),
  };
  const { id } = nextIdentity();
  await openJob(services, id, callerKey(principal), task);
  let isQueued = false;
  try {
    await storeInput(db.run, id, content.read(jobBytes));
    const queue = async (run: Run): Promise<Reply> => {
      if (!(await queueJob(run, id))) throw jobCancelled();
      isQueued = true;
      return acceptedReply(id, task, request);
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

async function storeInput(run: Run, id: string, input: AsyncIterable<Buffer>): Promise<void> {
  let [parts, bytes, position]: [Buffer[], number, number] = [[], 0, 0];
  const store = async (part: Buffer): Promise<void> => {
    if (!(await addInput(run, id, position, part))) throw jobCancelled();
    position += part.length;
  };
  for await (const chunk of input) {
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

/** 202 with the address of a job (RFC 7240 section 4.1). */
function acceptedReply(id: string, { isLenient }: Task, { prefix }: Request): Reply {
  const applied = isLenient ? 'respond-async, handling=lenient' : 'respond-async';
  const headers = ['Location', `${prefix}/jobs/${id}`, 'Preference-Applied', applied];
  return { status: 202, headers: ['Cache-Control', 'no-store', ...headers] };
}
