import type { Stored } from '../collection.js';
import { csv } from '../formats/csv.js';
import { CONTENT_SECURITY_POLICY, recordPage } from '../formats/html.js';
import type { JsonObject } from '../json.js';
import type { Resource } from '../resource.js';
import type { Reply } from './reply.js';

export const JSON_TYPE = 'application/json';
export const HTML_TYPE = 'text/html';
export const CSV_TYPE = 'text/csv';

/** What one record can be had as. */
export const RECORD_TYPES = [JSON_TYPE, HTML_TYPE, CSV_TYPE];

export const HTML_HEADERS = [
  'Content-Type',
  'text/html; charset=utf-8',
  'Content-Security-Policy',
  CONTENT_SECURITY_POLICY,
];

/** The path of a record, in the form that Location and links have. */
export function hrefOf(resource: Resource, id: string): string {
  return `/${resource.name}/${id}`;
}

/** A 200 with one record as `type`, and the ETag of that representation (RFC 9110 section 8.8.3). */
export function recordReply(resource: Resource, stored: Stored, type: string): Reply {
  if (type === HTML_TYPE) {
    const record = JSON.parse(stored.doc) as JsonObject;
    const links = Object.fromEntries(
      [resource.name, ...resource.children].map((name, at) => [
        name,
        at === 0 ? `/${name}` : `${hrefOf(resource, stored.id)}/${name}`,
      ]),
    );
    return {
      status: 200,
      headers: [...HTML_HEADERS, 'ETag', `"${stored.version}-html"`],
      body: recordPage(titleOf(resource, record), record, links),
    };
  }
  if (type === CSV_TYPE) {
    const headers = [
      'Content-Type',
      'text/csv; charset=utf-8; header=present',
      'ETag',
      `"${stored.version}-csv"`,
    ];
    return { status: 200, headers, body: csv(JSON.parse(stored.doc) as JsonObject) };
  }
  return {
    status: 200,
    headers: ['Content-Type', JSON_TYPE, 'ETag', etagOf(stored)],
    body: withLinks(resource, stored),
  };
}

export function etagOf(stored: Stored): string {
  return `"${stored.version}"`;
}

/** The stored text with `_links` put before its last brace: no parse, no stringify. */
export function withLinks(resource: Resource, { id, doc }: Stored): string {
  const href = hrefOf(resource, id);
  const children = resource.children
    .map((name) => `,"${name}":{"href":"${href}/${name}","method":"GET"}`)
    .join('');
  const links = `"self":{"href":"${href}","method":"GET"},"update":{"href":"${href}","method":"PATCH"},"delete":{"href":"${href}","method":"DELETE"}${children}`;
  return `${doc.slice(0, -1)},"_links":{${links}}}`;
}

function titleOf(resource: Resource, record: JsonObject): string {
  const name = record.name ?? record.title;
  return typeof name === 'string' ? name : `${resource.singular} ${String(record.id)}`;
}
