import { callerKey, fingerprintOf, identityOf } from '../../actions/idempotency.js';
import type { Run } from '../../db/db.js';
import type { ScopedCollection } from '../../feature.js';
import type { Reply } from '../../http/reply.js';
import { prefersLenient, type Request } from '../../http/request.js';
import { nextIdentity } from '../../uuid.js';
import { jobCancelled } from './errors.js';
import { acceptedReply } from './job-actions.js';
import { addInput, openJob, PART_BYTES, queueJob, removeJob } from './job-store.js';
import { CREATION, requireNoClaims, type Task, userOf } from './job-task.js';
import type { JobServices } from './settings.js';

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
  const identity = identityOf(request, async () => fingerprintOf(request, await content.digest(jobBytes)));
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
