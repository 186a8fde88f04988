import { withLinks } from '../collection/representation.js';
import type { Row, Run, Value } from '../db/db.js';
import { storedResponseTooLarge } from '../errors/record-errors.js';
import { type Reply, withoutField } from '../http/reply.js';
import type { Request } from '../http/request.js';
import type { ScopedCollection } from '../policy/scoped-collection.js';
import { batchReply } from './batch-results.js';

/** Bodies of records up to this size are stored. */
const MAX_RECORD_BYTES = 4096;
/** Bytes of all bodies in the stored reply of a batch. */
const MAX_BATCH_BYTES = 65_536;

/** A stored reply. Of a large record, the reference to its version is stored alone. */
interface StoredReply {
  readonly status: number;
  readonly headers: readonly string[];
  readonly body?: string | undefined;
  readonly record?: RecordVersion | undefined;
}

type RecordVersion = readonly [collection: string, id: string, version: number];

/** The content of the column `parts`. */
type Parts = { readonly record: RecordVersion } | { readonly results: readonly StoredReply[] };

/**
 * The row of a reply: the columns status, headers, body and parts. Throws 413 if the response to a batch contains more than can be
 * stored: pages, HTML or CSV that cannot be stored as references.
 */
export function rowOf(reply: Reply, collections: readonly ScopedCollection[]): Value[] {
  const hasRules: HasRules = (name) =>
    collections.some(({ resource }) => resource.hasRules && (name === undefined || resource.name === name));
  let left = MAX_BATCH_BYTES;
  const compacted = (each: Reply): StoredReply => {
    const stored = compact(each, left, hasRules);
    left -= Buffer.byteLength(stored.body ?? '');
    return stored;
  };
  const { results } = reply;
  const whole: StoredReply = results ? { status: reply.status, headers: reply.headers } : compacted(reply);
  const { status, headers, body, record } = whole;
  const parts: Parts | undefined = results ? { results: results.map(compacted) } : record && { record };
  return [status, JSON.stringify(headers), body ?? null, parts ? JSON.stringify(parts) : null];
}

/** Whether a collection has access rules; without a name, whether any has. */
type HasRules = (collection?: string) => boolean;

/**
 * Of a record with access rules, a reference is stored alone: who may read it can change. Of lists and views, which may show such records,
 * nothing is stored, nor of what has a secret.
 */
function compact(
  { status, headers, body, record, collection, isRead, isSecret }: Reply,
  maxBytes: number,
  hasRules: HasRules,
): StoredReply {
  if (isSecret || (isRead && !record && hasRules())) return minimal(status, headers);
  const bytes = body === undefined ? 0 : Buffer.byteLength(body);
  const version =
    record && collection !== undefined ? ([collection, record.id, record.version] as const) : undefined;
  const isReference = version && hasRules(version[0]);
  if (!isReference && bytes <= (record ? Math.min(MAX_RECORD_BYTES, maxBytes) : maxBytes))
    return { status, headers, body, record: version };
  if (!version) throw storedResponseTooLarge(MAX_BATCH_BYTES);
  return { status, headers, record: version };
}

/**
 * The reply in a row. A record that is stored as a reference, or that the caller may not read by its scopes alone, is read again. One
 * that has changed or was deleted since is omitted, as if the client had preferred a minimal response (RFC 7240 section 4.2). Status
 * and headers still report what the request did. `prefix` precedes the paths of links.
 */
export async function replyOf(
  row: Row,
  collections: readonly ScopedCollection[],
  run: Run,
  request: Pick<Request, 'principal' | 'prefix'>,
): Promise<Reply> {
  const headers = JSON.parse(row.headers as string) as string[];
  const parts = row.parts === null ? undefined : (JSON.parse(row.parts as string) as Parts);
  const stored = { status: row.status as number, headers };
  const body = row.body === null ? {} : { body: row.body as string };
  if (!parts || 'record' in parts)
    return restored({ ...stored, ...body, ...parts }, collections, run, request);
  const results: Reply[] = [];
  for (const result of parts.results) results.push(await restored(result, collections, run, request));
  return { ...batchReply(results), ...stored };
}

async function restored(
  { status, headers, body, record }: StoredReply,
  collections: readonly ScopedCollection[],
  run: Run,
  { principal, prefix }: Pick<Request, 'principal' | 'prefix'>,
): Promise<Reply> {
  if (!record && body !== undefined) return { status, headers, body };
  // A migration may have removed the body.
  if (!record) return headers.includes('Content-Type') ? minimal(status, headers) : { status, headers };
  const [name, id, version] = record;
  const collection = collections.find(({ resource }) => resource.name === name)?.as({ principal });
  if (body !== undefined && !collection?.access) return { status, headers, body };
  const current = await collection?.get(id, run);
  if (collection && typeof current === 'object' && current.version === version)
    return { status, headers, body: withLinks(collection.resource, current, prefix) };
  return minimal(status, headers);
}

const minimal = (status: number, headers: readonly string[]): Pick<StoredReply, 'status' | 'headers'> => ({
  status: status === 200 ? 204 : status,
  headers: ['Preference-Applied', 'return=minimal', ...withoutField(headers, 'Content-Type')],
});
