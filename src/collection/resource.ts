import { type Json, type JsonObject, member } from '../json.js';
import type { PasswordRules } from '../passwords/common-password.js';
import { normalized } from '../validation/normalization.js';
import type { FieldRules } from '../validation/require-valid.js';
import type { Column, ColumnType } from './column.js';

/** A field that refers to a record by its id, or to several by an array of ids. */
export interface Reference {
  readonly field: string;
  /** The collection that it refers to, and the word for one of its records. */
  readonly to: string;
  readonly singular: string;
  /** The table of the other collection in statements. */
  readonly table: string;
  /** The members of a record of the other collection by which lists of this one can be sorted. */
  readonly sorts: readonly string[];
  /** The effect on this record when the other record is deleted: `null` removes the field, `remove` the id from the array. */
  readonly onDelete: 'cascade' | 'restrict' | 'null' | 'remove';
  /** Whether the field is an array of ids. */
  readonly isList: boolean;
}

/** A reference of another collection, or of the same one. */
export interface ReferredBy {
  readonly collection: string;
  readonly field: string;
  /** The name of the table that links an array of references; undefined: the field has one id. */
  readonly links: string | undefined;
}

/** Fields whose values together are unique: one, or several. Records that lack one of them are not compared. */
export interface UniqueKey {
  readonly fields: readonly string[];
  /** The code of the 409. */
  readonly code: string;
}

/** A grant of an access rule, as a declaration has it. */
export interface DeclaredGrant {
  readonly can: Action | 'all' | readonly (Action | 'all')[];
  readonly where?: Json;
  readonly fields?: readonly string[];
  readonly scope?: string;
  readonly to?: 'anyone';
}

type Action = 'read' | 'create' | 'update' | 'delete';

/** A column by which lists can be sorted. */
export interface SortColumn {
  readonly name: string;
  readonly type: ColumnType | 'timestamptz';
  /** Whether records may have no value. These are last in both directions. */
  readonly isNullable: boolean;
  /** Whether an index has the order in both directions. Otherwise it lacks records without a value, or has them first. */
  readonly hasWholeOrder: boolean;
}

/** A field that the service sets when a record is created, or on every write. */
export interface SetField {
  readonly field: string;
  readonly value: 'caller' | 'now';
  readonly on: 'create' | 'write';
  /** Whether the value is the id of a record, so that other callers leave the field absent. */
  readonly isReference: boolean;
  /** The fields with the values one of which each has while the record has the field, in place of `on`; undefined: any. */
  readonly when: readonly (readonly [field: string, values: readonly Json[]])[] | undefined;
}

/** A field with the next number of the record that another field refers to, or of the collection. */
export interface NumberField {
  readonly field: string;
  /** The field that refers to the record; undefined: the collection has one series of numbers. */
  readonly parent: string | undefined;
}

/** A collection as data. All names in it are safe in SQL. */
export interface Resource extends FieldRules {
  /** The collection's name: its path segment. */
  readonly name: string;
  /** The collection's table in statements. */
  readonly table: string;
  /** Precedes the paths of links: PUBLIC_PREFIX. */
  readonly prefix: string;
  /** The word for one record in messages and codes: `user`. */
  readonly singular: string;
  /** Fields that only the service and imports set; what a request says of them is ignored. */
  readonly readOnly: readonly string[];
  /** Fields among the read-only ones that the service sets to the caller or the time. */
  readonly set: readonly SetField[];
  /** Fields among the read-only ones that have the next number. */
  readonly numbers: readonly NumberField[];
  /** Fields that only the creation of a record sets. */
  readonly immutable: readonly string[];
  /** Fields that are stored and never returned, besides passwords. */
  readonly writeOnly: readonly string[];
  /** Whether people sign in with the records, so that a password is stored as a hash, apart from its record. */
  readonly hasPasswords: boolean;
  /** The rules of the operator for new passwords; absent: the collection writes no records. */
  readonly passwordRules?: PasswordRules | undefined;
  /** Fields that an import may set and a request may not. */
  readonly importOnly: readonly string[];
  /** The columns besides the document, by their fields. */
  readonly columns: ReadonlyMap<string, Column>;
  /** Of fields that were added to the declaration, the last event before: up to it, values under the name are of another field. */
  readonly fieldsSince: ReadonlyMap<string, number>;
  readonly unique: readonly UniqueKey[];
  readonly references: readonly Reference[];
  /** Whether clients may choose the ids of new records. */
  readonly hasClientIds: boolean;
  /** The reference under whose collection the records are nested. */
  readonly parent: Reference | undefined;
  /** Whether the records are the callers that may authenticate; the scope `self` is about these and their children. */
  readonly owner: boolean;
  /** The field with the id of the caller that a record belongs to: `id` of callers, the parent below callers; undefined: there is none. */
  readonly callerField: string | undefined;
  /** The field with the user that an invitation gives a record; undefined: nothing is created by invitation. */
  readonly invited: string | undefined;
  /** Whether events store the record before each change. */
  readonly hasHistory: boolean;
  /** Whether callers that access rules show a part of the collection do not see who made a change. */
  readonly hidesActors: boolean;
  /** The field by which people know a record; undefined: there is none. */
  readonly display: string | undefined;
  /** The heading under which pages name the collection; undefined: there is none. */
  readonly group: string | undefined;
  /** The form of a list without parameters: the first page, or an array of everything. */
  readonly list: 'page' | 'array';
  /** Direction of the default order, by created_at. */
  readonly direction: 'asc' | 'desc';
  /** Whether in the address of a version 1 list, an invalid page, limit, sort or order gives the default. */
  readonly hasTolerantLists: boolean;
  /** Fields that lists can be filtered by. */
  readonly filterable: readonly string[];
  /** Fields that have indexes of their own for the order of lists. */
  readonly sortable: readonly string[];
  /** The columns that lists can be sorted by, by the names of the members. */
  readonly sorts: ReadonlyMap<string, SortColumn>;
  /** Fields in which `search` finds any part. */
  readonly searchable: readonly string[];
  /** Fields in which `search` finds words. */
  readonly words: readonly string[];
  /** The language of these words: the name of a text search configuration of PostgreSQL. */
  readonly language: string;
  /** Scopes to read and to write. */
  readonly scopes: { readonly read: string; readonly write: string };
  /** The access rules of the collection, or the grants for which its shorthands stand. */
  readonly grants: readonly DeclaredGrant[];
  /** Whether the grants are access rules. Those of shorthands decide before a record is read: what they do not permit is 403. */
  readonly hasRules: boolean;
  /** Whether PUT, PATCH and DELETE need If-Match; undefined: as the operator decides. */
  readonly requireIfMatch: boolean | undefined;
  /** Body of the 404 for a missing record: `{error: string}`, or none. */
  readonly absent: 'simple' | 'empty';
  /** The references of other collections to this one. */
  readonly referredBy: readonly ReferredBy[];
  /** The collections nested under its records. */
  readonly children: readonly string[];
}

/** Whether a member of the record of an event is the field of this name, and not one that had the name before. */
export const hasField = ({ fieldsSince }: Resource, field: string, seq: number): boolean =>
  seq > (fieldsSince.get(field) ?? 0);

/** The column that names the parent record; empty: there is none. */
export const parentColumn = ({ columns, parent }: Resource): string =>
  columns.get(parent?.field ?? '')?.name ?? '';

/** The ids of the records to which a field refers, each with its place in an array. */
export function referredIds(
  record: JsonObject,
  { field, isList }: Pick<Reference, 'field' | 'isList'>,
): { readonly id: string; readonly index: number | undefined }[] {
  const value = member(record, field);
  const isId = (each: unknown): each is string => typeof each === 'string';
  if (!isList) return isId(value) ? [{ id: value, index: undefined }] : [];
  return Array.isArray(value) ? value.flatMap((id, index) => (isId(id) ? [{ id, index }] : [])) : [];
}

/** The column by which Citus distributes records with their parents, if each has one for as long as it exists; undefined: the id. */
export const shardColumn = ({ columns, parent, schema }: Resource): string | undefined =>
  parent && parent.onDelete !== 'null' && schema.required.includes(parent.field)
    ? columns.get(parent.field)!.name
    : undefined;

/** Whether a change of a record has to know fields of its present state, which it does not set. */
export const retainsFields = ({ readOnly, immutable }: Resource): boolean =>
  readOnly.length > 0 || immutable.length > 0;

/** SQL of a column in an order or a comparison: texts by code points. `relation` ends with a dot. */
export function comparable(
  { name, type }: { readonly name: string; readonly type: string },
  relation = '',
): string {
  return `${relation}${name}${type === 'text' ? ' collate "C"' : ''}`;
}

/** The name of the order by relevance. A field of that name takes precedence. */
export const RELEVANCE = 'relevance';

/** The relevance of a record as a column of the records that a search finds. No field's column has such a name. */
export const RANK: SortColumn = {
  name: 'relevance$rank',
  type: 'double precision',
  isNullable: false,
  hasWholeOrder: true,
};

/** A function that derives a value from each collection once. */
export function perResource<V, More extends readonly unknown[]>(
  make: (resource: Resource, ...more: More) => V,
): (resource: Resource, ...more: More) => V {
  const known = new WeakMap<Resource, V>();
  return (resource, ...more) => {
    const value = known.get(resource) ?? make(resource, ...more);
    known.set(resource, value);
    return value;
  };
}

/** Whether lists can be searched. */
export const canSearch = ({ searchable, words }: Resource): boolean => searchable.length + words.length > 0;

/** SQL of the words that `search` finds: those of all fields as one text. `relation` ends with a dot. */
export function wordsSql({ words, language, columns }: Resource, relation = ''): string {
  const texts = words.map((field) => `coalesce(${relation}${columns.get(field)!.name}, '')`);
  return `plinth_words('pg_catalog.${language}', ${texts.join(` || e'\\n' || `)})`;
}

/** SQL of the text of which `search` finds any part, in lower case. `relation` ends with a dot. */
export function searchSql({ searchable, columns }: Resource, relation = ''): string {
  const names = searchable.map((field) => `${relation}${columns.get(field)!.name}`);
  return names.length === 1
    ? `lower(${names[0]})`
    : `lower(${names.map((name) => `coalesce(${name}, '')`).join(` || e'\\n' || `)})`;
}

/** The unique keys that clients can write. */
export const writableKeys = ({ unique, readOnly, importOnly }: Resource): readonly (readonly string[])[] =>
  unique
    .map(({ fields }) => fields)
    .filter((fields) => !fields.some((field) => readOnly.includes(field) || importOnly.includes(field)));

/** The columns of a collection's table with their types. */
export const definitionsOf = ({ columns }: Resource): string[] => [
  'id uuid',
  'version integer',
  'updated_at timestamptz',
  'doc text',
  ...[...columns.values()].map(({ name, type }) => `${name} ${type}`),
];

/** The rows of a statement's first parameter, a JSON array, with their positions. */
export const givenRowsSql = (resource: Resource): string =>
  `rows from (json_to_recordset($1::text::json) as (${definitionsOf(resource).join(', ')})) with ordinality`;

/** A text of a query, changed by the steps of `x-normalize` as the field's values were. */
export const normalizedText = (
  { normalize }: Resource,
  field: string,
  text: string,
  part: Parameters<typeof normalized>[2],
): string => String(normalized(normalize[field] ?? [], text, part));

/** The text of a search as each of some fields stores it, without texts that differ in ASCII case only. */
export function searchedTexts(resource: Resource, fields: readonly string[], text: string): string[] {
  if (text === '') return [];
  const texts = fields.map((field) => normalizedText(resource, field, text, 'any'));
  const folded = (each: string) => each.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  return [...new Map(texts.map((each) => [folded(each), each])).values()];
}

/** Each second part of the type of an event: `users.created`. */
export const EVENT_VERBS = ['created', 'updated', 'deleted'] as const;
