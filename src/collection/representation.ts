import { hash } from 'node:crypto';
import { preconditionFailed } from '../errors.js';
import { csv } from '../formats/csv.js';
import { CONTENT_SECURITY_POLICY, recordPage } from '../formats/html.js';
import { type Conditions, evaluate, type Validators } from '../http/preconditions.js';
import type { Reply } from '../http/reply.js';
import type { JsonObject } from '../json.js';
import { lastModified, modifiedAt, type StoredRecord } from './record.js';
import type { Resource } from './resource.js';

export const JSON_TYPE = 'application/json';
export const HTML_TYPE = 'text/html';
export const CSV_TYPE = 'text/csv';

/** What one record can be had as. */
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

/** A private cache may store a response, and asks before it uses it again. */
export const CACHE = 'private, no-cache';

export function headersOf(type: string): readonly string[] {
  return REPRESENTATIONS[type]!.headers;
}

/** The path of a record, in the form that Location and links have. */
export function hrefOf(resource: Resource, id: string): string {
  return `/${resource.name}/${id}`;
}

/** ETag (RFC 9110 section 8.8.3) of one representation: the row's version, and which representation it is. */
export function etagOf(stored: StoredRecord, type = JSON_TYPE): string {
  return `"${stored.version}${REPRESENTATIONS[type]!.suffix}"`;
}

/** ETag and Last-Modified of a record. */
export function validatorFields(stored: StoredRecord): string[] {
  return ['ETag', etagOf(stored), 'Last-Modified', lastModified(stored)];
}

/** The answer to a GET of one record as `type`: 200, 304, or the 412 that its preconditions make of it. */
export function recordReply(
  resource: Resource,
  stored: StoredRecord,
  type: string,
  conditions?: Conditions,
): Reply {
  const etag = etagOf(stored, type);
  const validators = ['ETag', etag, 'Last-Modified', lastModified(stored), 'Cache-Control', CACHE];
  const kept = conditions && revalidate(conditions, { etag, modified: () => modifiedAt(stored) }, validators);
  if (kept) return kept;
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

/** A 200 whose ETag is a hash of its body, so that it changes with anything in it; or its 304 or 412. */
export function hashedReply(type: string, body: string, conditions?: Conditions): Reply {
  const etag = `"${hash('sha1', body, 'base64url')}"`;
  const validators = ['ETag', etag, 'Cache-Control', CACHE];
  const kept = conditions && revalidate(conditions, { etag, modified: undefined }, validators);
  return kept ?? { status: 200, headers: [...headersOf(type), ...validators], body };
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

/** The stored text with `_links` put before its last brace: no parse, no stringify. */
export function withLinks(resource: Resource, { id, doc }: StoredRecord): string {
  const href = hrefOf(resource, id);
  const around = aroundHref(resource);
  let text = doc.slice(0, -1) + around[0];
  for (let at = 1; at < around.length; at++) text += href + around[at]!;
  return text;
}

const linkTexts = new WeakMap<Resource, readonly string[]>();

/** The text of `_links` before, between and after the places where the record's path goes; made once. */
function aroundHref(resource: Resource): readonly string[] {
  const known = linkTexts.get(resource);
  if (known) return known;
  const links = [
    ['self', '', 'GET'],
    ['update', '', 'PATCH'],
    ['delete', '', 'DELETE'],
    ...resource.children.map((name) => [name, `/${name}`, 'GET']),
  ];
  const texts = links.map(([name, path, method]) => `"${name}":{"href":"\n${path}","method":"${method}"}`);
  const around = `,"_links":{${texts.join(',')}}}`.split('\n');
  linkTexts.set(resource, around);
  return around;
}

function titleOf(resource: Resource, record: JsonObject): string {
  const name = record.name ?? record.title;
  return typeof name === 'string' ? name : `${resource.singular} ${String(record.id)}`;
}
