import type { Guarded } from '../../access/guarded-collection.js';
import { callerKey, fingerprintOf, identityOf } from '../../actions/idempotency.js';
import type { Run } from '../../db/db.js';
import { badRequest } from '../../errors/request-errors.js';
import { prefersLenient } from '../../http/prefer.js';
import type { Reply } from '../../http/reply.js';
import type { Content, Request } from '../../http/request.js';
import type { Action } from '../../http/router.js';
import { nextIdentity } from '../../uuid.js';
import { jobCancelled } from './errors.js';
import { wholeList } from './export-run.js';
import { acceptedReply, type JobServices } from './job-actions.js';
import { addInput, PART_BYTES } from './job-parts.js';
import { requireNoClaims } from './job-rules.js';
import { findJob, openJob, queueJob, removeJob } from './job-store.js';
import { permittedBy, type Task } from './job-task.js';

/** Stores the body of a request, for a job that creates its records: 202 with Location, 408, 413, 429, 503. */
export async function submitCreation(
  services: JobServices,
  collection: Guarded,
  request: Request,
): Promise<Reply> {
  const { db, jobBytes, idempotency } = services;
  const { principal, headers, body } = request;
  const content = body!.stream!;
  const identity = identityOf(request, async () => fingerprintOf(request, await content.digest(jobBytes)));
  const { id } = nextIdentity();
  const task: Task = {
    kind: 'creation',
    collection: collection.resource.name,
    type: body!.type,
    isLenient: prefersLenient(headers.prefer),
    ...permittedBy(request),
  };
  await openJob(db, id, callerKey(principal.subject), task, services);
  let isQueued = false;
  try {
    await storeInput(services, id, content);
    const queue = async (run: Run): Promise<Reply> => {
      if (!(await queueJob(run, id))) throw jobCancelled();
      isQueued = true;
      return acceptedReply((await findJob(run, id))!, request);
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

/** Begins a job that writes the whole list of a query: 202 with Location, 400, 429, 503. */
export async function submitExport(
  services: JobServices,
  collection: Guarded,
  list: Action,
  request: Request,
): Promise<Reply> {
  const { db } = services;
  const { principal, method, query, body, type, version } = request;
  if (request.run) throw badRequest('A batch cannot begin an export.');
  requireNoClaims(collection);
  // A query that is not valid has its response now.
  await wholeList(list, request);
  const { id } = nextIdentity();
  const task: Task = {
    ...{ kind: 'export', collection: collection.resource.name, type, method, query },
    ...{ body: body?.value ?? null, version: version.number },
    ...permittedBy(request),
  };
  await openJob(db, id, callerKey(principal.subject), task, services);
  await queueJob(db.run, id);
  services.wake();
  return acceptedReply((await findJob(db.run, id))!, request);
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
