import type { Collection } from '../collection/collection.js';
import { relationName } from '../collection/extended-query.js';
import { MAX_PAGE_BYTES } from '../collection/list-orders.js';
import { pageExceeds } from '../errors/query-errors.js';
import type { Request } from '../http/request.js';
import { type JsonObject, member } from '../json.js';
import { permit } from '../principal.js';
import { parseUuid } from '../uuid.js';
import { only } from './list-lines.js';

/** Records of another collection that refer to one record, at most. */
const MAX_REFERRING = 20;

/** Adds related records to those of a page. */
type Relation = (
  records: readonly JsonObject[],
  request: Request,
) => Promise<(record: JsonObject) => unknown>;

export interface NamedRelation {
  readonly name: string;
  readonly read: Relation;
}

/** Throws 403 unless the caller may read all records of the other collection. */
export function relationOf(
  { resource }: Collection,
  related: readonly Collection[],
  { principal }: Request,
  name: string,
): NamedRelation {
  const find = (wanted: string) => related.find((each) => each.resource.name === wanted)!;
  const reference = resource.references.find(({ field }) => relationName(field) === name);
  const referring = resource.referredBy.find((each) => each.collection === name);
  const other = find(reference?.to ?? name);
  const { read } = other.resource.scopes;
  if (read !== undefined) permit(principal, { scopes: [read] }, {});
  if (reference) return { name, read: referredRecords(other, reference.field) };
  return { name, read: referringRecords(other, other.resource.columns.get(referring!.field)!.name) };
}

/** The record to which a field refers; null: it refers to none. */
function referredRecords(other: Collection, field: string): Relation {
  return async (records, { run }) => {
    const idOf = (record: JsonObject) => parseUuid(String(member(record, field) ?? ''));
    const ids = [...new Set(records.map(idOf).filter((id) => id !== undefined))];
    const found = new Map<string, JsonObject>();
    let bytes = 0;
    await Promise.all(
      ids.map(async (id) => {
        const stored = await other.get(id, run);
        if (typeof stored === 'string') return;
        bytes += stored.doc.length;
        if (bytes > MAX_PAGE_BYTES) throw pageExceeds(MAX_PAGE_BYTES);
        found.set(id, JSON.parse(stored.doc) as JsonObject);
      }),
    );
    return (record) => found.get(idOf(record) ?? '') ?? null;
  };
}

/** The first records that refer to a record, at most MAX_REFERRING. */
function referringRecords(other: Collection, column: string): Relation {
  return async (records, { run }) => {
    const ids = records.map(({ id }) => String(id));
    const found = await other.referring(column, ids, MAX_REFERRING, run);
    let bytes = 0;
    for (const docs of found.values()) bytes += docs.length;
    if (bytes > MAX_PAGE_BYTES) throw pageExceeds(MAX_PAGE_BYTES);
    return ({ id }) => JSON.parse(`[${found.get(String(id)) ?? ''}]`) as unknown;
  };
}

/** The records as a query shows them: with some of their fields, and with related records in `_included`. */
export async function shownRecords(
  records: readonly JsonObject[],
  relations: readonly NamedRelation[],
  fields: readonly string[] | undefined,
  request: Request,
): Promise<JsonObject[]> {
  const read = await Promise.all(
    relations.map(async ({ name, read }) => ({ name, of: await read(records, request) })),
  );
  return records.map((record) => {
    const shown = fields === undefined ? record : only(record, fields);
    if (read.length === 0) return shown;
    const included = Object.fromEntries(read.map(({ name, of }) => [name, of(record)]));
    return { ...shown, _included: included } as JsonObject;
  });
}
