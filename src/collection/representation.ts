import { hash } from 'node:crypto';
import { preconditionFailed } from '../errors.js';
import { csv } from '../formats/csv.js';
import { CONTENT_SECURITY_POLICY, recordPage } from '../formats/html.js';
import { type Conditions, evaluate, type Validators } from '../http/preconditions.js';
import type { Reply } from '../http/reply.js';
import type { JsonObject } from '../json.js';
import { lastModified, modifiedAt, withLastMember } from './document.js';
import type { StoredRecord } from './record.js';
import type { Resource } from './resource.js';

export const JSON_TYPE = 'application/json';
export const HTML_TYPE = 'text/html';
export const CSV_TYPE = 'text/csv';

/** The media types of a single record. */
export const RECORD_TYPES = [JSON_TYPE, HTML_TYPE, CSV_TYPE];

/** The suffix of a representation's ETag, and its own header fields. */
const REPRESENTATIONS: Readonly<
  Record<string, { readonly suffix: string; readonly headers: readonly string[] }>
> = {
  [JSON_TYPE]: { suffix: '', headers: ['Content-Type', JSON_TYPE] },
  [HTML_TYPE]: {
    suffix: '-html',
    headers: ['Content-Type', 'text/html; charset=utf-8', 'Content-Security-Policy', CONTENT_SECURITY_POLICY],
  },
  [CSV_TYPE]: { suffix: '-csv', headers: ['Content-Type', 'text/csv; charset=utf-8; header=present'] },
};

/** A private cache may store a response, and revalidates it before each use. */
export const CACHE = 'private, no-cache';

export function headersOf(type: string): readonly string[] {
  return REPRESENTATIONS[type]!.headers;
}

/** The path of a record, as in Location and links. */
export function hrefOf(resource: Resource, id: string): string {
  return `/${resource.name}/${id}`;
}

/** ETag (RFC 9110 section 8.8.3) of a representation: the record's version, and a suffix for HTML and CSV. */
export function etagOf(stored: StoredRecord, type = JSON_TYPE): string {
  return `"${stored.version}${REPRESENTATIONS[type]!.suffix}"`;
}

/** ETag and Last-Modified of a record. */
export function validatorFields(stored: StoredRecord): string[] {
  return ['ETag', etagOf(stored), 'Last-Modified', lastModified(stored)];
}

/** The response to GET of a record as `type`: 200, 304 or 412. */
export function recordReply(
  resource: Resource,
  stored: StoredRecord,
  type: string,
  conditions?: Conditions,
): Reply {
  const etag = etagOf(stored, type);
  const validators = ['ETag', etag, 'Last-Modified', lastModified(stored), 'Cache-Control', CACHE];
  const modified = () => modifiedAt(stored);
  const revalidated = conditions && revalidate(conditions, { etag, modified }, validators);
  if (revalidated) return revalidated;
  const headers = headersOf(type).concat(validators);
  if (type !== JSON_TYPE) return { status: 200, headers, body: bodyOf(resource, stored, type) };
  return {
    status: 200,
    headers,
    body: withLinks(resource, stored),
    record: stored,
    collection: resource.name,
  };
}

/** A 200 whose ETag is a hash of its body, or its 304 or 412. */
export function hashedReply(type: string, body: string, conditions?: Conditions): Reply {
  const etag = `"${hash('sha1', body, 'base64url')}"`;
  const validators = ['ETag', etag, 'Cache-Control', CACHE];
  const revalidated = conditions && revalidate(conditions, { etag, modified: undefined }, validators);
  return revalidated ?? { status: 200, headers: [...headersOf(type), ...validators], body };
}

function revalidate(
  conditions: Conditions,
  validators: Validators,
  headers: readonly string[],
): Reply | undefined {
  const outcome = evaluate(conditions, validators);
  if (outcome === 412) throw preconditionFailed(validators.etag);
  return outcome === 304 ? { status: 304, headers } : undefined;
}

function bodyOf(resource: Resource, stored: StoredRecord, type: string): string {
  const record = JSON.parse(stored.doc) as JsonObject;
  return type === CSV_TYPE
    ? csv(record)
    : recordPage(titleOf(resource, record), record, linksOf(resource, stored.id));
}

function linksOf(resource: Resource, id: string): Record<string, string> {
  const children = resource.children.map((name) => [name, `${hrefOf(resource, id)}/${name}`]);
  return Object.fromEntries([[resource.name, `/${resource.name}`], ...children]);
}

/** The document with `_links` as its last member. */
export function withLinks(resource: Resource, { id, doc }: StoredRecord): string {
  return withLastMember(doc, linkTemplate(resource).join(hrefOf(resource, id)));
}

const linkTemplates = new WeakMap<Resource, readonly string[]>();

/** The text of `_links`, split where the record's path belongs. It is built once per resource. */
function linkTemplate(resource: Resource): readonly string[] {
  const known = linkTemplates.get(resource);
  if (known) return known;
  const links = [
    ['self', '', 'GET'],
    ['update', '', 'PATCH'],
    ['delete', '', 'DELETE'],
    ...resource.children.map((name) => [name, `/${name}`, 'GET']),
  ];
  const texts = links.map(([name, path, method]) => `"${name}":{"href":"\n${path}","method":"${method}"}`);
  const template = `,"_links":{${texts.join(',')}}`.split('\n');
  linkTemplates.set(resource, template);
  return template;
}

function titleOf(resource: Resource, record: JsonObject): string {
  const name = record.name ?? record.title;
  return typeof name === 'string' ? name : `${resource.singular} ${String(record.id)}`;
}
