import { MAX_PAGE_BYTES, withLastMember } from '../collection/document.js';
import { referredIds } from '../collection/resource.js';
import type { Run } from '../db/db.js';
import type { Request } from '../http/request.js';
import type { Json, JsonObject } from '../json.js';
import { ofDocument } from '../limits/turn.js';
import { among, EVERYTHING } from '../list/condition.js';
import type { Collection } from '../list/open-collection.js';
import type { Include, View } from '../list/read-fields-and-includes.js';
import { named, type ScopedCollection } from '../policy/scoped-collection.js';
import { parseUuid } from '../uuid.js';
import { readDocuments } from './large-page.js';
import { only } from './list-lines.js';

/** Max related records of one record, by a relation to several. */
const MAX_RELATED = 20;
/** Max records whose related records one statement reads. */
const MAX_RECORDS = 2000;
/** The length of a number of records. */
const MAX_DIGITS = 16;

/** A member of a record's `_included`, with its length as text. */
interface Included {
  readonly value: Json;
  readonly length: number;
}

/** A relation that a view includes. */
interface Relation {
  readonly name: string;
  /** The related records of several records; undefined: they are too large for memory. */
  readonly ofAll: (
    records: readonly JsonObject[],
    run: Run | undefined,
  ) => Promise<((record: JsonObject) => Included) | undefined>;
  /** The related records of one record, as JSON text. Of several, as many as have MAX_PAGE_BYTES, at least one. */
  readonly ofOne: (record: JsonObject, run: Run | undefined) => Promise<string>;
}

/** The fields and the related records that a response shows of each record. */
export interface Shown extends Pick<View, 'fields'> {
  readonly relations: readonly Relation[];
  /** The excerpts in the member `_excerpts`; absent: the records have no such member. */
  readonly excerpts?:
    | ((ids: readonly string[], run: Run | undefined) => Promise<ReadonlyMap<string, JsonObject>>)
    | undefined;
}

/** The number of records that refer to a record by any of some fields. */
function counts(other: Collection, fields: readonly string[]): Omit<Relation, 'name'> {
  const columns = fields.map((field) => other.resource.columns.get(field)!.name);
  const numbers = async (records: readonly JsonObject[], run: Run | undefined) => {
    const ids = records.map(({ id }) => String(id));
    const found = await other.referringCounts(columns, ids, run);
    return ({ id }: JsonObject) => ({ value: found.get(String(id)) ?? 0, length: MAX_DIGITS });
  };
  return {
    ofAll: async (records, run) => (records.length > MAX_RECORDS ? undefined : numbers(records, run)),
    ofOne: async (record, run) => String((await numbers([record], run))(record).value),
  };
}

/** The first records of lists, each of which is in the order of the ids. */
function firstOf(lists: readonly string[]): readonly JsonObject[] {
  const records = lists.map((docs) => JSON.parse(`[${docs}]`) as JsonObject[]);
  if (records.length === 1) return records[0]!;
  const byId = new Map(records.flat().map((record) => [String(record.id), record]));
  const ids = [...byId.keys()].sort().slice(0, MAX_RELATED);
  return ids.map((id) => byId.get(id)!);
}

/** The length of all parts. */
const lengthOf = (parts: readonly { readonly length: number }[]): number =>
  parts.reduce((sum, { length }) => sum + length, 0);

export const shownOf = (
  related: readonly ScopedCollection[],
  { fields, include }: View,
  caller: Pick<Request, 'principal'>,
): Shown => ({
  fields,
  relations: include.map((each) => relationOf(related, each, caller)),
});

function relationOf(
  related: readonly ScopedCollection[],
  { name, relation, isCount, view }: Include,
  caller: Pick<Request, 'principal'>,
): Relation {
  const other = named(related, relation.collection).as(caller);
  const shown = shownOf(related, view, caller);
  if (relation.field !== undefined)
    return { name, ...referredRecords(other, relation.field, relation.isMany, shown) };
  return { name, ...(isCount ? counts : referringRecords)(other, relation.referring, shown) };
}

/** The record to which a field refers, or null; or the first ones to which its array does, in its order, each once, at most MAX_RELATED. */
function referredRecords(
  other: Collection,
  field: string,
  isList: boolean,
  shown: Shown,
): Omit<Relation, 'name'> {
  // A stored text may be no id, where records violate their declaration.
  const idsOf = (record: JsonObject) =>
    new Set(referredIds(record, { field, isList }).flatMap(({ id }) => parseUuid(id) ?? []));
  return {
    ofAll: async (records, run) => {
      const byId = await referred(
        other,
        new Set(records.flatMap((record) => [...idsOf(record)])),
        shown,
        run,
      );
      return (
        byId &&
        ((record) => {
          const found = [...idsOf(record)].flatMap((id) => byId.get(id) ?? []).slice(0, MAX_RELATED);
          const values = found.map(({ value }) => value);
          return { value: isList ? values : (values[0] ?? null), length: lengthOf(found) };
        })
      );
    },
    ofOne: async (record, run) => {
      const ids = [...idsOf(record)];
      const found = new Set(ids.length > 1 ? await other.ids(among(ids), ids.length, run) : ids);
      const first = ids.filter((id) => found.has(id)).slice(0, MAX_RELATED);
      const list = await shownList(other, first, shown, run);
      return isList ? list : list.slice(1, -1) || 'null';
    },
  };
}

/** The records of these ids as a view shows them; undefined: they are too many, or too large for memory. */
async function referred(
  other: Collection,
  ids: ReadonlySet<string>,
  shown: Shown,
  run: Run | undefined,
): Promise<ReadonlyMap<string, Included> | undefined> {
  if (ids.size > MAX_RECORDS) return undefined;
  const found = await other.referring('id', [...ids], 1, run);
  if (!found) return undefined;
  const texts = [...found.values()];
  const values = await shownRecords(
    texts.map((text) => JSON.parse(text) as JsonObject),
    shown,
    run,
  );
  if (!values) return undefined;
  return new Map(
    [...found.keys()].map((id, at) => {
      const { record, length } = values[at]!;
      return [id, { value: record, length: length + texts[at]!.length }];
    }),
  );
}

/** Records with these ids, in their order, as a JSON array: as many as have MAX_PAGE_BYTES, at least one. */
async function shownList(
  other: Collection,
  ids: readonly string[],
  shown: Shown,
  run: Run | undefined,
): Promise<string> {
  const documents: string[] = [];
  let bytes = 0;
  for await (const document of readDocuments(other, ids, run)) {
    const text = await shownDocument(document, shown, run);
    bytes += Buffer.byteLength(text);
    if (documents.length > 0 && bytes > MAX_PAGE_BYTES) break;
    documents.push(text);
  }
  return `[${documents.join(',')}]`;
}

/** The first records that refer to a record by any of some fields, each once, at most MAX_RELATED. */
function referringRecords(
  other: Collection,
  fields: readonly string[],
  shown: Shown,
): Omit<Relation, 'name'> {
  const columns = fields.map((field) => ({ field, column: other.resource.columns.get(field)! }));
  return {
    ofAll: async (records, run) => {
      const ids = records.map(({ id }) => String(id));
      if (ids.length > MAX_RECORDS) return undefined;
      const found: ReadonlyMap<string, string>[] = [];
      for (const { column } of columns) {
        const documents = await other.referring(column.name, ids, MAX_RELATED, run);
        if (documents === undefined) return undefined;
        found.push(documents);
      }
      const texts = (id: string) => found.map((each) => each.get(id) ?? '');
      // On Citus, a document may have grown since its length was read.
      if (lengthOf(found.flatMap((each) => [...each.values()])) > MAX_PAGE_BYTES) return undefined;
      const lists = new Map(ids.map((id) => [id, firstOf(texts(id))]));
      const all = [...new Map([...lists.values()].flat().map((each) => [String(each.id), each])).values()];
      const values = await shownRecords(all, shown, run);
      if (!values) return undefined;
      const byId = new Map(all.map(({ id }, at) => [id, values[at]!]));
      return ({ id }) => {
        const list = lists.get(String(id))!.map((each) => byId.get(each.id!)!);
        return { value: list.map(({ record }) => record), length: lengthOf([...list, ...texts(String(id))]) };
      };
    },
    ofOne: async ({ id }, run) => {
      const ids = new Set<string>();
      for (const each of columns) {
        const operator = each.column.links === undefined ? 'eq' : 'has';
        const conditions = [{ kind: 'comparison', ...each, operator, values: [String(id)] } as const];
        const selection = { ...EVERYTHING, conditions };
        for (const found of await other.ids(selection, MAX_RELATED, run)) ids.add(found);
      }
      return shownList(other, [...ids].sort().slice(0, MAX_RELATED), shown, run);
    },
  };
}

/**
 * The records as a view shows them: with some of their fields, and with related records in `_included`, each with its length. Several
 * may have one record in theirs. Undefined: the related records are too large for memory.
 */
export async function shownRecords(
  records: readonly JsonObject[],
  { fields, relations, excerpts }: Shown,
  run: Run | undefined,
): Promise<{ readonly record: JsonObject; readonly length: number }[] | undefined> {
  const parts = await excerpts?.(
    records.map(({ id }) => String(id)),
    run,
  );
  const excerptsOf = ({ id }: JsonObject) => (parts ? { _excerpts: parts.get(String(id)) ?? {} } : {});
  const read = await Promise.all(
    relations.map(async ({ name, ofAll }) => ({ name, of: await ofAll(records, run) })),
  );
  if (read.some(({ of }) => of === undefined)) return undefined;
  let total = 0;
  const found = records.map((record) => {
    const shown = { ...(fields === undefined ? record : only(record, fields)), ...excerptsOf(record) };
    if (read.length === 0) return { record: shown, length: 0 };
    const included = read.map(({ name, of }) => ({ name, ...of!(record) }));
    const length = lengthOf(included);
    total += length;
    const values = Object.fromEntries(included.map(({ name, value }) => [name, value]));
    return { record: { ...shown, _included: values }, length };
  });
  return total > MAX_PAGE_BYTES ? undefined : found;
}

/** A document as a view shows it: what `shownRecords` has, but for one record of any size. */
export async function shownDocument(
  doc: string,
  { fields, relations, excerpts }: Shown,
  run: Run | undefined,
): Promise<string> {
  if (fields === undefined && relations.length === 0 && !excerpts) return doc;
  const record = await ofDocument(doc, (parsed) => parsed);
  const { _included: _, ...shown } = fields === undefined ? record : only(record, fields);
  const id = String(record.id);
  if (excerpts) shown._excerpts = (await excerpts([id], run)).get(id) ?? {};
  if (relations.length === 0) return JSON.stringify(shown);
  const included: string[] = [];
  for (const { name, ofOne } of relations)
    included.push(`${JSON.stringify(name)}:${await ofOne(record, run)}`);
  return withLastMember(JSON.stringify(shown), `,"_included":{${included.join(',')}}`);
}
