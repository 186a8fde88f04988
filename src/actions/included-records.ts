import { MAX_PAGE_BYTES, withLastMember } from '../collection/document.js';
import type { Run } from '../db/db.js';
import type { Request } from '../http/request.js';
import { type Json, type JsonObject, member } from '../json.js';
import { ofDocument } from '../limits/long-task.js';
import type { Collection } from '../list/collection.js';
import { EVERYTHING } from '../list/condition.js';
import { relatedOf, type View } from '../list/view.js';
import { type Principal, permit } from '../principal.js';
import { parseUuid } from '../uuid.js';
import { readDocuments } from './large-page.js';
import { only } from './list-lines.js';

/** Max records of another collection that refer to one record. */
const MAX_REFERRING = 20;

/** A relation that a query includes. */
export interface Relation {
  readonly name: string;
  /** The related records of several records; undefined: they are too large for memory. */
  readonly ofAll: (
    records: readonly JsonObject[],
    run: Run | undefined,
  ) => Promise<((record: JsonObject) => Json) | undefined>;
  /** The related records of one record, as JSON text. Of those that refer to it, as many as have MAX_PAGE_BYTES, at least one. */
  readonly ofOne: (record: JsonObject, run: Run | undefined) => Promise<string>;
}

/** One of the related collections. Throws 403 unless the caller may read all of its records. */
export function readable(related: readonly Collection[], principal: Principal, name: string): Collection {
  const other = related.find(({ resource }) => resource.name === name)!;
  const { read } = other.resource.scopes;
  if (read !== undefined) permit(principal, { scopes: [read] }, {});
  return other;
}

/** Throws 403 unless the caller may read all records of the other collection. */
function relationOf(
  { resource }: Collection,
  related: readonly Collection[],
  { principal }: Request,
  name: string,
): Relation {
  const relation = relatedOf(resource).find((each) => each.name === name)!;
  const other = readable(related, principal, relation.collection);
  return relation.field === undefined
    ? { name, ...referringRecords(other, relation.referring) }
    : { name, ...referredRecords(other, relation.field) };
}

/** The record to which a field refers; null: it refers to none. */
function referredRecords(other: Collection, field: string): Omit<Relation, 'name'> {
  const idOf = (record: JsonObject) => parseUuid(String(member(record, field) ?? ''));
  return {
    ofAll: async (records, run) => {
      const ids = [...new Set(records.map(idOf).filter((id) => id !== undefined))];
      const found = await other.referring('id', ids, 1, run);
      // Several records may refer to one, which the response contains as many times.
      if (!found || !areFew(records.map((record) => found.get(idOf(record) ?? '')))) return undefined;
      const values = new Map([...found].map(([id, doc]) => [id, JSON.parse(doc) as Json]));
      return (record) => values.get(idOf(record) ?? '') ?? null;
    },
    ofOne: async (record, run) => {
      const id = idOf(record);
      const found = id === undefined ? 'absent' : await other.get(id, run);
      return typeof found === 'string' ? 'null' : found.doc;
    },
  };
}

/** The first records that refer to a record by any of some fields, each once, at most MAX_REFERRING. */
function referringRecords(other: Collection, fields: readonly string[]): Omit<Relation, 'name'> {
  const columns = fields.map((field) => ({ field, column: other.resource.columns.get(field)! }));
  return {
    ofAll: async (records, run) => {
      const ids = records.map(({ id }) => String(id));
      const found: ReadonlyMap<string, string>[] = [];
      for (const { column } of columns) {
        const documents = await other.referring(column.name, ids, MAX_REFERRING, run);
        if (documents === undefined) return undefined;
        found.push(documents);
      }
      // On Citus, a document may have grown since its length was read.
      if (!areFew(found.flatMap((each) => [...each.values()]))) return undefined;
      return ({ id }) => firstOf(found.map((each) => each.get(String(id)) ?? ''));
    },
    ofOne: async ({ id }, run) => {
      const ids = new Set<string>();
      for (const each of columns) {
        const conditions = [{ kind: 'comparison', ...each, operator: 'eq', values: [String(id)] } as const];
        const selection = { ...EVERYTHING, conditions };
        for (const found of await other.ids(selection, MAX_REFERRING, run)) ids.add(found);
      }
      const documents: string[] = [];
      let bytes = 0;
      for await (const document of readDocuments(other, [...ids].sort().slice(0, MAX_REFERRING), run)) {
        bytes += Buffer.byteLength(document);
        if (documents.length > 0 && bytes > MAX_PAGE_BYTES) break;
        documents.push(document);
      }
      return `[${documents.join(',')}]`;
    },
  };
}

/** The first records of lists, each of which is in the order of the ids. */
function firstOf(lists: readonly string[]): Json {
  const records = lists.map((docs) => JSON.parse(`[${docs}]`) as JsonObject[]);
  if (records.length === 1) return records[0]!;
  const byId = new Map(records.flat().map((record) => [String(record.id), record]));
  const ids = [...byId.keys()].sort().slice(0, MAX_REFERRING);
  return ids.map((id) => byId.get(id)!);
}

function areFew(documents: Iterable<string | undefined>): boolean {
  let bytes = 0;
  for (const document of documents) bytes += document?.length ?? 0;
  return bytes <= MAX_PAGE_BYTES;
}

/** The fields and the related records that a response shows of each record. */
export interface Shown extends Pick<View, 'fields'> {
  readonly relations: readonly Relation[];
}

/** Throws 403 for a relation that the caller may not read. */
export const shownOf = (
  collection: Collection,
  related: readonly Collection[],
  request: Request,
  { fields, include }: View,
): Shown => ({ fields, relations: include.map((name) => relationOf(collection, related, request, name)) });

/**
 * The records as a query shows them: with some of their fields, and with related records in `_included`. Undefined: the
 * related records are too large for memory.
 */
export async function shownRecords(
  records: readonly JsonObject[],
  { fields, relations }: Shown,
  run: Run | undefined,
): Promise<JsonObject[] | undefined> {
  const read = await Promise.all(
    relations.map(async ({ name, ofAll }) => ({ name, of: await ofAll(records, run) })),
  );
  if (read.some(({ of }) => of === undefined)) return undefined;
  return records.map((record) => {
    const shown = fields === undefined ? record : only(record, fields);
    if (read.length === 0) return shown;
    const included = Object.fromEntries(read.map(({ name, of }) => [name, of!(record)]));
    return { ...shown, _included: included };
  });
}

/** A document as a query shows it: what `shownRecords` has, but for one record of any size. */
export async function shownDocument(
  doc: string,
  { fields, relations }: Shown,
  run: Run | undefined,
): Promise<string> {
  if (fields === undefined && relations.length === 0) return doc;
  const record = await ofDocument(doc, (parsed) => parsed);
  const { _included: _, ...shown } = fields === undefined ? record : only(record, fields);
  if (relations.length === 0) return JSON.stringify(shown);
  const included: string[] = [];
  for (const { name, ofOne } of relations)
    included.push(`${JSON.stringify(name)}:${await ofOne(record, run)}`);
  return withLastMember(JSON.stringify(shown), `,"_included":{${included.join(',')}}`);
}
