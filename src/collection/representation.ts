import { hash } from 'node:crypto';
import { preconditionFailed } from '../errors/record-errors.js';
import { csv } from '../formats/csv.js';
import { CSV_TYPE, HTML_TYPE, JSON_TYPE, NDJSON_TYPE, YAML_TYPE } from '../http/media-types.js';
import { type Conditions, evaluate, matchedEtag, type Validators } from '../http/preconditions.js';
import type { Reply } from '../http/reply.js';
import type { JsonObject } from '../json.js';
import { ofDocument } from '../limits/turn.js';
import { lastModified, modifiedAt, withLastMember } from './document.js';
import type { StoredRecord } from './record.js';
import type { Resource } from './resource.js';

/** The media types of a single record, besides its page. */
export const RECORD_TYPES = [JSON_TYPE, CSV_TYPE];

/** The suffix of a representation's ETag, and its own header fields. */
const REPRESENTATIONS: Readonly<
  Record<string, { readonly suffix: string; readonly headers: readonly string[] }>
> = {
  [JSON_TYPE]: { suffix: '', headers: ['Content-Type', JSON_TYPE] },
  [HTML_TYPE]: {
    suffix: '-html',
    headers: ['Content-Type', 'text/html; charset=utf-8'],
  },
  [CSV_TYPE]: { suffix: '-csv', headers: ['Content-Type', 'text/csv; charset=utf-8; header=present'] },
  [YAML_TYPE]: { suffix: '', headers: ['Content-Type', YAML_TYPE] },
  [NDJSON_TYPE]: { suffix: '', headers: ['Content-Type', NDJSON_TYPE] },
};

/** A private cache may store a response, and revalidates it before each use. */
export const CACHE = 'private, no-cache';

export function headersOf(type: string): readonly string[] {
  return REPRESENTATIONS[type]!.headers;
}

/** The path of a record, as in Location and links. `prefix` is that of the request's version. */
export function hrefOf(resource: Resource, id: string, prefix = resource.prefix): string {
  return `${prefix}/${resource.name}/${id}`;
}

/** ETag (RFC 9110 section 8.8.3) of a representation: the record's version, and a suffix for HTML and CSV. */
export const etagOf = ({ version }: StoredRecord, type = JSON_TYPE): string =>
  `"${version}${REPRESENTATIONS[type]!.suffix}"`;

/** ETag and Last-Modified of a record. */
export function validatorFields(stored: StoredRecord): string[] {
  return ['ETag', etagOf(stored), 'Last-Modified', lastModified(stored)];
}

/** The response to GET of a record as `type`: 200, 304 or 412. For HTML its body is the JSON that the page shows. */
export function recordReply(
  resource: Resource,
  stored: StoredRecord,
  type: string,
  prefix: string,
  conditions?: Conditions,
): Reply | Promise<Reply> {
  const etag = etagOf(stored, type);
  const validators = ['ETag', etag, 'Last-Modified', lastModified(stored), 'Cache-Control', CACHE];
  const modified = () => modifiedAt(stored);
  const revalidated = conditions && revalidate(conditions, { etag, modified }, validators);
  if (revalidated) return revalidated;
  const headers = REPRESENTATIONS[type]!.headers.concat(validators);
  if (type === CSV_TYPE)
    return ofDocument(stored.doc, (record) => ({ status: 200, headers, body: csv(record) }));
  if (type === HTML_TYPE) return { status: 200, headers, body: stored.doc };
  return {
    status: 200,
    headers,
    body: withLinks(resource, stored, prefix),
    record: stored,
    collection: resource.name,
  };
}

/**
 * The response to GET of a part of a record, or of one with related records; `shown.doc` is its text. The ETag begins with the
 * version of the record, which writes compare, and goes on with a hash of what is shown.
 */
export function viewReply(
  resource: Resource,
  shown: StoredRecord,
  type: string,
  prefix: string,
  conditions?: Conditions,
): Reply | Promise<Reply> {
  const replyOf = (body: string) => {
    const etag = `"${shown.version}-${hash('sha1', `${type}\n${body}`, 'base64url')}"`;
    return hashedReply(type, body, conditions, { etag });
  };
  if (type === CSV_TYPE) return ofDocument(shown.doc, (record) => replyOf(csv(record)));
  return replyOf(type === JSON_TYPE ? withLinks(resource, shown, prefix) : shown.doc);
}

/** The ETag of a representation that has no version. */
export const hashOf = (body: string): string => `"${hash('sha1', body, 'base64url')}"`;

/** A 200 of a media type, or with these fields, or its 304 or 412. The ETag is by default a hash of the body. `more`: further fields of each. */
export function hashedReply(
  form: string | readonly string[],
  body: string,
  conditions?: Conditions,
  { etag = hashOf(body), more = [] }: { readonly etag?: string; readonly more?: readonly string[] } = {},
): Reply {
  const validators = ['ETag', etag, 'Cache-Control', CACHE, ...more];
  const revalidated = conditions && revalidate(conditions, { etag, modified: undefined }, validators);
  const fields = typeof form === 'string' ? headersOf(form) : form;
  return revalidated ?? { status: 200, headers: [...fields, ...validators], body };
}

/** The 304 of a representation with these validators, if the preconditions lead to one. Throws 412. */
function revalidate(
  conditions: Conditions,
  validators: Validators,
  /** Begins with the ETag. */
  headers: readonly string[],
): Reply | undefined {
  const outcome = evaluate(conditions, validators);
  if (outcome === 412) throw preconditionFailed(validators.etag);
  if (outcome !== 304) return undefined;
  const [name, etag, ...rest] = headers;
  return { status: 304, headers: [name!, matchedEtag(conditions, etag!), ...rest] };
}

/** The document with `_links` as its last member. */
export function withLinks(
  resource: Resource,
  { id, doc }: Pick<StoredRecord, 'id' | 'doc'>,
  prefix: string,
): string {
  const href = hrefOf(resource, id, prefix);
  let links = `"self":{"href":"${href}","method":"GET"},"update":{"href":"${href}","method":"PATCH"},"delete":{"href":"${href}","method":"DELETE"}`;
  for (const name of resource.children) links += `,"${name}":{"href":"${href}/${name}","method":"GET"}`;
  return withLastMember(doc, `,"_links":{${links}}`);
}

/** The value of `_links`. */
export function linksOf(resource: Resource, { id }: Pick<StoredRecord, 'id'>, prefix: string): JsonObject {
  const shown = withLinks(resource, { id, doc: '{"id":0}' }, prefix);
  return (JSON.parse(shown) as { readonly _links: JsonObject })._links;
}
