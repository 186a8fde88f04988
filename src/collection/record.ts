import type { Row } from '../db/db.js';
import type { Places } from '../db/places.js';
import type { JsonObject } from '../json.js';

/** A record as it is stored: `doc` is its JSON text, complete but for `_links`. */
export interface StoredRecord {
  readonly id: string;
  readonly version: number;
  readonly doc: string;
}

/** The records that a statement found, and the ids of those whose documents are so long that they are read by themselves. */
export interface FoundRecords {
  readonly stored: ReadonlyMap<string, StoredRecord>;
  readonly large: ReadonlySet<string> | undefined;
}

/** Where a document has its id: it begins with `{"id":"`. */
const [ID, ID_END] = [7, 43];

/**
 * The records that a statement gave as one text of documents, by their ids; of one that was deleted it has the id alone,
 * of a large one the id and the length. A place before a document goes to `places`.
 */
export function parseRecords(records: string | null, places?: Places): FoundRecords {
  const stored = new Map<string, StoredRecord>();
  let large: Set<string> | undefined;
  for (const record of records?.split('\x1e') ?? []) {
    const start = record[0] === '(' ? record.indexOf('{') : 0;
    const doc = record.slice(start);
    const id = doc.slice(ID, ID_END);
    if (start > 0) places?.keep(id, record.slice(0, start));
    if (doc[doc.length - 1] !== '}') {
      large ??= new Set();
      large.add(id);
      continue;
    }
    const isDeleted = doc.length === ID_END + 2;
    stored.set(id, { id, version: isDeleted ? 0 : Number(doc.slice(doc.lastIndexOf(':') + 1, -1)), doc });
  }
  return { stored, large };
}

/** When a record was last changed, milliseconds: read where every document has it, before the version. */
export function modifiedAt(stored: StoredRecord): number {
  return Date.parse(updatedText(stored));
}

/** The same as an HTTP date (RFC 9110 section 5.6.7), put together from the text: 0.3 of the time of a Date's. */
export function lastModified(stored: StoredRecord): string {
  const updated = updatedText(stored);
  return `${dayOf(updated.slice(0, 10))}${updated.slice(11, 19)} GMT`;
}

function updatedText({ doc, version }: StoredRecord): string {
  const end = doc.length - '","_version":}'.length - String(version).length;
  return doc.slice(end - '2026-01-01T00:00:00.000Z'.length, end);
}

const MAX_DAYS = 4096;
const days = new Map<string, string>();

/** `2026-01-01` as `Thu, 01 Jan 2026 `. */
function dayOf(date: string): string {
  const known = days.get(date);
  if (known !== undefined) return known;
  const day = new Date(date).toUTCString().slice(0, -'00:00:00 GMT'.length);
  if (days.size >= MAX_DAYS) days.clear();
  days.set(date, day);
  return day;
}

/** Why there is no record: there never was one, or it was deleted and the service keeps tombstones. */
export type NotFoundReason = 'absent' | 'gone';

/** A write that the guard held back, and the record as it was seen. */
export interface PreconditionFailed {
  readonly current: StoredRecord;
}

/** Whether a write has taken place. */
export function isStored(outcome: unknown): outcome is StoredRecord {
  return typeof outcome === 'object' && outcome !== null && 'doc' in outcome;
}

/** What a guarded statement gives back of a row it found and did not write. */
export function preconditionFailedOn(id: string, row: Row): PreconditionFailed {
  return { current: { id, version: row.before as number, doc: row.doc as string } };
}

/** A document up to its version: the fields in the client's order between what the service owns. */
export function documentHead(id: string, fields: JsonObject, created: string, updated: string): string {
  const own = JSON.stringify(fields).slice(1, -1);
  return `{"id":"${id}",${own}${own === '' ? '' : ','}"created_at":"${created}","updated_at":"${updated}","_version":`;
}

/** A record with the version that ends its document. */
export function toRecord(id: string, head: string, version: number): StoredRecord {
  return { id, version, doc: `${head}${version}}` };
}
