import type { Run } from '../db/db.js';
import type { Json, JsonObject } from '../json.js';
import type { ListRequest } from '../list/list-request.js';
import type { Collection } from '../list/open-collection.js';
import type { View } from '../list/read-fields-and-includes.js';

/** Max related records of one record, by a relation to several. */
export const MAX_RELATED = 20;
/** Max records whose related records one statement reads. */
export const MAX_RECORDS = 2000;
/** The length of a number of records. */
const MAX_DIGITS = 16;

/** A member of a record's `_included`, with its length as text. */
export interface Included {
  readonly value: Json;
  readonly length: number;
}

/** A relation that a view includes. */
export interface Relation {
  readonly name: string;
  /** The related records of several records; undefined: they are too large for memory. */
  readonly ofAll: (
    records: readonly JsonObject[],
    run: Run | undefined,
  ) => Promise<((record: JsonObject) => Included) | undefined>;
  /** The related records of one record, as JSON text. Of several, as many as have MAX_PAGE_BYTES, at least one. */
  readonly ofOne: (record: JsonObject, run: Run | undefined) => Promise<string>;
}

/** Reads the excerpts of records by their ids; absent: a response has none. */
export type Excerpts = (
  ids: readonly string[],
  run: Run | undefined,
) => Promise<ReadonlyMap<string, JsonObject>>;

/** The fields and the related records that a response shows of each record. */
export interface Shown extends Pick<View, 'fields'> {
  readonly relations: readonly Relation[];
  /** The excerpts in the member `_excerpts`; absent: the records have no such member. */
  readonly excerpts?: Excerpts | undefined;
}

/** The number of records that refer to a record by any of some fields. */
export function counts(other: Collection, fields: readonly string[]): Omit<Relation, 'name'> {
  const columns = columnsOf(other, fields).map(({ column }) => column.name);
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

/** The fields of a collection with their columns. */
export const columnsOf = ({ resource }: Collection, fields: readonly string[]) =>
  fields.map((field) => ({ field, column: resource.columns.get(field)! }));

/** The records in documents. */
export const parsed = (documents: Iterable<string>): JsonObject[] =>
  [...documents].map((document) => JSON.parse(document) as JsonObject);

/** The first records of lists, each of which is in the order of the ids. */
export function firstOf(lists: readonly string[]): readonly JsonObject[] {
  const records = lists.map((docs) => JSON.parse(`[${docs}]`) as JsonObject[]);
  if (records.length === 1) return records[0]!;
  const byId = new Map(records.flat().map((record) => [String(record.id), record]));
  const ids = [...byId.keys()].sort().slice(0, MAX_RELATED);
  return ids.map((id) => byId.get(id)!);
}

/** The length of texts. */
export const lengthOf = (texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + text.length, 0);

/** The excerpts that a list request asks for; undefined: it asks for none. */
export const excerptsOf = (
  collection: Collection,
  { excerpts, search }: ListRequest,
): Excerpts | undefined => (excerpts ? (ids, run) => collection.excerpts(search, ids, run) : undefined);
