import type { Guarded } from '../../access/guarded-collection.js';
import { readsAll } from '../../access/rules.js';
import { callerKey, type Idempotency } from '../../actions/idempotency.js';
import { headersOf, revalidate } from '../../collection/representation.js';
import type { Db, Run } from '../../db/db.js';
import { accessDenied } from '../../errors/caller-errors.js';
import { notFound } from '../../errors/request-errors.js';
import { JSON_TYPE, NDJSON_TYPE } from '../../http/media-types.js';
import { readConditions } from '../../http/preconditions.js';
import type { Reply } from '../../http/reply.js';
import type { Request } from '../../http/request.js';
import type { Action } from '../../http/router.js';
import { isObject, type Json, type JsonObject } from '../../json.js';
import { parseUuid } from '../../uuid.js';
import { resultMissing } from './errors.js';
import { inputFrom } from './job-parts.js';
import { type ExportOutcome, mayDownload } from './job-rules.js';
import { cancelJob, findJob, type Job, type JobBounds, listJobs, removeJob } from './job-store.js';
import { isLenient } from './job-task.js';
import { rangeOf } from './ranges.js';
import { mayReadResult } from './result-records.js';

/** The services of the endpoints of jobs, and of requests for jobs. */
export interface JobServices extends JobBounds {
  readonly db: Db;
  readonly collections: readonly Guarded[];
  readonly idempotency: Idempotency;
  /** Bytes of the body of a request for a job. */
  readonly jobBytes: number;
  readonly jobTtl: number;
  /** The actions that list records, or change one, by method and collection: `GET items`. */
  readonly actions: Map<string, Action>;
  /** Called when there is a job to do. */
  readonly wake: () => void;
}

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

/**
 * GET /jobs/:id/result: what an export has written, or a range of it: 200, 206, 304, 404, 409 while it is not complete, 412, 416.
 * 404 as well if the caller lacks a grant by which the job has read, and 403 if it may not read any more what the result has.
 */
export async function getResult(services: JobServices, request: Request): Promise<Reply> {
  const job = await ownJob(services, request);
  const { id, task, state, endedAt } = job;
  if (task.kind !== 'export') throw noSuchJob();
  if (state !== 'done') throw resultMissing(state);
  const outcome = job.outcome as ExportOutcome;
  const collection = services.collections.find(({ resource }) => resource.name === task.collection);
  const isOwn = job.caller === callerKey(request.principal);
  if (!collection || !mayDownload(collection, request.principal, { ...outcome, ...task, isOwn }))
    throw noSuchJob();
  if (!(await mayReadResult(services.db.run, collection, request.principal, id, outcome.rows)))
    throw accessDenied(
      'The access rules do not permit you to read all of this result any more: export it again.',
    );
  const { bytes: length } = outcome;
  const [etag, modifiedAt] = [`"${id}"`, Date.parse(endedAt!)];
  const validators = ['ETag', etag, 'Last-Modified', new Date(modifiedAt).toUTCString()];
  const fields = [...validators, 'Cache-Control', 'private, no-cache'];
  const conditions = readConditions(request.headers);
  const revalidated = conditions && revalidate(conditions, { etag, modified: () => modifiedAt }, fields);
  if (revalidated) return revalidated;
  const { range, 'if-range': ifRange } = request.headers;
  const part =
    request.method === 'GET'
      ? rangeOf(range, String(ifRange ?? '') || undefined, length, { etag, modifiedAt })
      : undefined;
  const { from, to } = part ?? { from: 0, to: length };
  const extension = task.type === JSON_TYPE ? 'json' : task.type === NDJSON_TYPE ? 'ndjson' : 'csv';
  return {
    status: part ? 206 : 200,
    headers: [
      ...headersOf(task.type),
      ...['Content-Disposition', `attachment; filename="${task.collection}.${extension}"`],
      ...['Accept-Ranges', 'bytes', ...fields],
      ...(part ? ['Content-Range', `bytes ${from}-${to - 1}/${length}`] : []),
    ],
    content: { kind: 'bytes', length: to - from, read: () => partOf(services.db.run, id, from, to) },
  };
}

async function* partOf(run: Run, id: string, from: number, to: number): AsyncGenerator<Buffer> {
  let at = from;
  for await (const bytes of inputFrom(run, id, from)) {
    yield bytes.subarray(0, to - at);
    at += bytes.length;
    if (at >= to) return;
  }
  // The job was removed: a result that is cut off must not look complete.
  if (at < to) throw noSuchJob();
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
  if (!job || !isOwn) throw noSuchJob();
  return job;
}

const noSuchJob = () => notFound.variant({ message: 'No such job.', shape: 'simple' });

const FIELDS = ['Content-Type', JSON_TYPE, 'Cache-Control', 'no-store'];

/** 202 with the address of a job (RFC 7240 section 4.1). */
export function acceptedReply({ id, task }: Pick<Job, 'id' | 'task'>, { prefix }: Request): Reply {
  const isApplied = task.kind === 'creation' && task.isLenient;
  const applied = isApplied ? 'respond-async, handling=lenient' : 'respond-async';
  const headers = ['Location', `${prefix}/jobs/${id}`, 'Preference-Applied', applied];
  return { status: 202, headers: ['Cache-Control', 'no-store', ...headers] };
}

function shown(services: JobServices, job: Job, request: Request): object {
  const { id, task, state, inputBytes, storedBytes, progress, createdAt, startedAt, endedAt } = job;
  const { prefix } = request;
  const outcome = outcomeFor(services, job, request);
  const isExport = task.kind === 'export';
  const isUndone = !isLenient(task) && state !== 'done' && state !== 'running';
  const { position = 0, stored = 0, refused = 0 } = progress ?? {};
  return {
    ...{ id, kind: task.kind, collection: task.collection, state },
    ...(isExport && { progress: { bytes: storedBytes } }),
    ...(task.kind === 'change' && { progress: { changed: stored, refused } }),
    ...(task.kind === 'creation' && {
      progress: {
        ...{ bytes: Math.min(position, inputBytes), total_bytes: inputBytes },
        ...{ stored: isUndone ? 0 : stored, refused },
      },
    }),
    ...(state === 'done' &&
      (isExport ? { result: { bytes: (outcome as ExportOutcome).bytes } } : { report: outcome })),
    ...(state === 'failed' && { error: outcome }),
    ...{ created_at: createdAt, started_at: startedAt, ended_at: endedAt },
    expires_at: endedAt && new Date(Date.parse(endedAt) + services.jobTtl * 1000).toISOString(),
    _links: {
      self: { href: `${prefix}/jobs/${id}`, method: 'GET' },
      ...(isExport && state === 'done' && { result: { href: `${prefix}/jobs/${id}/result`, method: 'GET' } }),
    },
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
  return isKnown || !isObject(outcome as Json) ? outcome : withoutValues(outcome as JsonObject);
}

const withoutValues = (outcome: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(outcome).map(([name, given]): [string, Json] => {
      if (name === 'details' && isObject(given)) return [name, withoutValues(given)];
      if (name !== 'faults' || !Array.isArray(given)) return [name, given];
      return [name, given.map((fault) => (isObject(fault) ? withoutValue(fault) : fault))];
    }),
  );

const withoutValue = ({ value: _, ...fault }: JsonObject): JsonObject => fault;
