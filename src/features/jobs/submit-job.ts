import type { Guarded } from '../../access/guarded-collection.js';
import { matching } from '../../actions/bulk.js';
import { readWritePreconditions, type WriteSettings } from '../../actions/conditional-write.js';
import { callerKey, fingerprintOf, type Identity, identityOf } from '../../actions/idempotency.js';
import { requireValidPatch } from '../../actions/patch.js';
import type { Run } from '../../db/db.js';
import { badRequest } from '../../errors/request-errors.js';
import { prefersLenient } from '../../http/prefer.js';
import type { Reply } from '../../http/reply.js';
import type { Request } from '../../http/request.js';
import type { Action } from '../../http/router.js';
import { nextIdentity } from '../../uuid.js';
import { jobCancelled } from './errors.js';
import { wholeList } from './export-run.js';
import { acceptedReply, type JobServices } from './job-actions.js';
import { addInput, PART_BYTES } from './job-parts.js';
import { changeResources, creationResources, exportResources, requireNoClaims } from './job-rules.js';
import { openJob, queueJob, removeJob } from './job-store.js';
import { permittedBy, type Task } from './job-task.js';
import { userOf } from './job-user.js';

/** Stores the body of a request, for a job that creates its records: 202 with Location, 400, 408, 413, 429, 503. */
export async function submitCreation(
  services: JobServices,
  collection: Guarded,
  request: Request,
): Promise<Reply> {
  const { headers, body } = request;
  const { jobBytes, collections } = services;
  requireNoClaims(creationResources(collection, collections));
  const content = body!.stream!;
  const identity = identityOf(request, async () => fingerprintOf(request, await content.digest(jobBytes)));
  const task: Task = {
    kind: 'creation',
    collection: collection.resource.name,
    type: body!.type,
    isLenient: prefersLenient(headers.prefer),
    ...permittedBy(request),
    ...(await userOf(services.collections, request.principal)),
  };
  return submit(services, request, task, content.read(jobBytes), identity);
}

/** Begins a job that writes the whole list of a query: 202 with Location, 400, 429, 503. */
export async function submitExport(
  services: JobServices,
  collection: Guarded,
  list: Action,
  request: Request,
): Promise<Reply> {
  const { method, query, body, type, version } = request;
  // A query that is not valid has its response now.
  await wholeList(list, request);
  requireNoClaims(exportResources(collection, services.collections, request));
  const task: Task = {
    ...{ kind: 'export', collection: collection.resource.name, type, method, query },
    ...{ body: body?.value ?? null, version: version.number },
    ...permittedBy(request),
    ...(await userOf(services.collections, request.principal)),
  };
  return submit(services, request, task, []);
}

/** Begins a job that changes or deletes all records that match a filter: 202 with Location, 400, 403, 428, 429, 503. */
export async function submitChange(
  services: JobServices & { readonly settings: WriteSettings },
  collection: Guarded,
  change: { readonly method: 'PATCH' | 'DELETE'; readonly action: Action },
  request: Request,
): Promise<Reply> {
  const { query, headers, body, prefix, version } = request;
  const { method, action } = change;
  const selection = matching(collection, services.collections, request);
  if (method === 'PATCH') requireValidPatch(body);
  requireNoClaims(changeResources(collection, services.collections, selection, body));
  readWritePreconditions(collection, request, services.settings);
  if (action.prepare?.(request)) throw badRequest('A job changes no passwords.');
  const preconditions = PRECONDITIONS.flatMap((name) =>
    headers[name] === undefined ? [] : [[name, headers[name]]],
  );
  const task: Task = {
    ...{
      kind: 'change',
      collection: collection.resource.name,
      type: body?.type ?? '',
      method,
      query,
      prefix,
    },
    ...{ headers: Object.fromEntries(preconditions) as Request['headers'], version: version.number },
    ...permittedBy(request),
    ...(await userOf(services.collections, request.principal)),
  };
  const identity = identityOf(request, () => fingerprintOf(request, body?.bytes ?? ''));
  return submit(services, request, task, body ? [Buffer.from(JSON.stringify(body.value))] : [], identity);
}

/** The fields of a request that are about each of its changes. */
const PRECONDITIONS = ['if-match', 'if-none-match', 'if-unmodified-since'] as const;

async function submit(
  services: JobServices,
  request: Request,
  task: Task,
  input: AsyncIterable<Buffer> | Iterable<Buffer>,
  identity?: Identity,
): Promise<Reply> {
  const { db, idempotency } = services;
  const { id } = nextIdentity();
  await openJob(db, id, callerKey(request.principal), task, services);
  let isQueued = false;
  try {
    await storeInput(db.run, id, input);
    const queue = async (run: Run): Promise<Reply> => {
      if (!(await queueJob(run, id))) throw jobCancelled();
      isQueued = true;
      return acceptedReply({ id, task }, request);
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

async function storeInput(
  run: Run,
  id: string,
  input: AsyncIterable<Buffer> | Iterable<Buffer>,
): Promise<void> {
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
