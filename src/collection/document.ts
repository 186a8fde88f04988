import type { JsonObject } from '../json.js';
import type { StoredRecord } from './record.js';

/**
 * The layout of a stored document, which only this file knows:
 *
 *     {"id":"<uuid>",<fields>,"created_at":"<time>","updated_at":"<time>","_version":<number>}
 *
 * The id is always at the same offset from the beginning, the times and the version from the end.
 */
const ID_START = '{"id":"'.length;
const ID_END = ID_START + '00000000-0000-7000-8000-000000000000'.length;
const AFTER_UPDATED_AT = '","_version":}'.length;
const TIME_LENGTH = '2026-01-01T00:00:00.000Z'.length;
const FIELDS_START = ID_END + '",'.length;
/** Between the fields and the number of the version. */
const AFTER_FIELDS = '"created_at":"","updated_at":"","_version":'.length + 2 * TIME_LENGTH;

/** Separates documents in one text: a character that JSON text never contains. */
const SEPARATOR = '\x1e';

/** A document up to its version: the client's fields in their order, and `more` members, between those that the service owns. */
export function documentHead(
  id: string,
  fields: JsonObject,
  created: string,
  updated: string,
  more: readonly string[] = [],
): string {
  const own = JSON.stringify(fields).slice(1, -1);
  const members = more.length === 0 ? own : [...(own === '' ? [] : [own]), ...more].join();
  return `{"id":"${id}",${members}${members === '' ? '' : ','}"created_at":"${created}","updated_at":"${updated}","_version":`;
}

/** A record from its document's head and its version. */
export function toRecord(id: string, head: string, version: number): StoredRecord {
  return { id, version, doc: `${head}${version}}` };
}

/** A document with one more member at its end; `text` is `,"name":value`. Neither parses nor serializes. */
export function withLastMember(doc: string, text: string): string {
  return `${doc.slice(0, -1)}${text}}`;
}

/** Characters of JSON. */
const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const [BRACKET, BRACKET_END, BRACE, BRACE_END] = [0x5b, 0x5d, 0x7b, 0x7d] as const;

/** Members that each record has, whatever a caller may read of it. */
export const OWN_MEMBERS = ['id', 'created_at', 'updated_at', '_version'];

/**
 * A document without some of its fields. The text is scanned, since to parse and serialize the documents of a page takes a sixth of the
 * time of its request. Documents in another layout, which files of data changes and events have, are parsed.
 */
export function withoutFields(doc: string, isHidden: (name: string) => boolean): string {
  if (!doc.startsWith('{"id":"')) return parsedWithout(doc, isHidden);
  const end = doc.lastIndexOf(':') + 1 - AFTER_FIELDS;
  let shown = '';
  let from = 0;
  let at = FIELDS_START;
  while (at < end) {
    const colon = stringEnd(doc, at);
    if (doc.charCodeAt(at) !== QUOTE || doc.charCodeAt(colon) !== COLON) break;
    // A name with an escape is parsed; most have none.
    const name = doc.slice(at + 1, colon - 1);
    const next = valueEnd(doc, colon + 1) + 1;
    if (isHidden(name.includes('\\') ? JSON.parse(`"${name}"`) : name)) {
      shown += doc.slice(from, at);
      from = next;
    }
    at = next;
  }
  // Text in another layout would be cut at wrong places.
  const isUsual = at === end && doc.startsWith('"created_at":"', end);
  return isUsual ? shown + doc.slice(from) : parsedWithout(doc, isHidden);
}

function parsedWithout(doc: string, isHidden: (name: string) => boolean): string {
  const members = Object.entries(JSON.parse(doc) as JsonObject);
  const shown = members.filter(([name]) => OWN_MEMBERS.includes(name) || !isHidden(name));
  return JSON.stringify(Object.fromEntries(shown));
}

/** The place after the JSON string that begins at a place. A quote after an odd number of backslashes is a part of the string. */
function stringEnd(json: string, start: number): number {
  for (let quote = json.indexOf('"', start + 1); ; quote = json.indexOf('"', quote + 1)) {
    let before = quote - 1;
    while (json.charCodeAt(before) === BACKSLASH) before--;
    if ((quote - before) % 2 === 1) return quote + 1;
  }
}

/** The place after the JSON value that begins at a place and is a member of an object. */
function valueEnd(json: string, start: number): number {
  let at = start;
  for (let depth = 0; ; ) {
    const char = json.charCodeAt(at);
    if (depth === 0 && (char === COMMA || char === BRACE_END)) return at;
    if (char === QUOTE) {
      at = stringEnd(json, at);
      continue;
    }
    if (char === BRACE || char === BRACKET) depth++;
    else if (char === BRACE_END || char === BRACKET_END) depth--;
    at++;
  }
}

/** When a record was last changed, in milliseconds. */
export function modifiedAt(record: StoredRecord): number {
  return Date.parse(updatedAt(record));
}

/** When a record was last changed, as an HTTP date (RFC 9110 section 5.6.7). */
export function lastModified(record: StoredRecord): string {
  return new Date(updatedAt(record)).toUTCString();
}

function updatedAt({ doc, version }: StoredRecord): string {
  const end = doc.length - AFTER_UPDATED_AT - String(version).length;
  return doc.slice(end - TIME_LENGTH, end);
}

/** Bytes of a document that is read by itself, and not together with others. */
export const LARGE_DOCUMENT_BYTES = 65_536;

/** Bytes of the documents of a page that is built in memory. A larger one, or one with a large document, is streamed. */
export const MAX_PAGE_BYTES = 1_048_576;

/** SQL for the parts of a text of several documents; `parseRecords` reads it. */
export const DOCUMENT_SQL = {
  separator: `e'\\x1e'`,
  /** A document. A large one is represented by its id and its length. */
  document: `case when octet_length(doc) > ${LARGE_DOCUMENT_BYTES} then '{"id":"' || id || '",' || octet_length(doc) else doc end`,
  /** A deleted record is represented by its id. */
  tombstone: `'{"id":"' || id || '"}'`,
  /** A document without what every write changes, as `unchangedPart` makes it. */
  unchanged: `regexp_replace(doc, ',"updated_at":"[^"]*","_version":\\d+\\}$', '')`,
};

/** The text of a document up to what every write changes, from its text up to the version. */
export const unchangedPart = (head: string, updatedAt: string): string =>
  head.slice(0, -`,"updated_at":"${updatedAt}","_version":`.length);

/** The text of a document up to the version, with another time of the last change. */
export const changedHead = (head: string, from: string, to: string): string =>
  `${unchangedPart(head, from)},"updated_at":"${to}","_version":`;

/** The documents in a text of several ones. */
export const documentsIn = (text: string): string[] => (text === '' ? [] : text.split(SEPARATOR));

/** The id in a document. */
export const idOf = (doc: string): string => doc.slice(ID_START, ID_END);

/** The records that a statement found, and the ids of those that are too large to be read together with others. */
export interface FoundRecords {
  /** Deleted records have version 0. */
  readonly records: ReadonlyMap<string, StoredRecord>;
  readonly large: ReadonlySet<string>;
}

/** Reads the text that a statement made with DOCUMENT_SQL. */
export function parseRecords(text: string | null): FoundRecords {
  const records = new Map<string, StoredRecord>();
  const large = new Set<string>();
  for (const doc of text?.split(SEPARATOR) ?? []) {
    const id = idOf(doc);
    const isTombstone = doc.length === ID_END + '"}'.length;
    if (!doc.endsWith('}')) large.add(id);
    else {
      const version = isTombstone ? 0 : Number(doc.slice(doc.lastIndexOf(':') + 1, -1));
      records.set(id, { id, version, doc });
    }
  }
  return { records, large };
}
