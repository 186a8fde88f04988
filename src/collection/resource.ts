import type { FieldRules } from '../validation.js';

/** A collection as data: what `resources/*.ts` declare and `collection.ts` opens. */
export interface Resource extends FieldRules {
  /** The collection's name: its path segment and its table. */
  readonly name: string;
  /** One record, as a word for messages: `user`. */
  readonly singular: string;
  /** Fields that an import may set and a request may not. */
  readonly importOnly?: readonly string[];
  /** Fields that have a column of their own besides the document: field -> column. */
  readonly columns: Readonly<Record<string, string>>;
  /** Unique constraints: constraint name -> the 409 it means. */
  readonly unique?: Readonly<Record<string, { readonly code: 'EMAIL_TAKEN'; readonly field: string }>>;
  /** The field that names the record's parent, and the parent's collection. */
  readonly parent?: { readonly field: string; readonly collection: string };
  /** Whether its records are those who may authenticate: the scope `self` is about the caller's own. */
  readonly owner?: boolean;
  /** Collections nested under a record: the names of their links. */
  readonly children: readonly string[];
  /** How a list without parameters looks: the first page, or an array of everything. */
  readonly list: 'page' | 'array';
  /** Direction of the default order, by created_at. */
  readonly direction: 'asc' | 'desc';
  /** Sortable fields besides created_at, with the SQL that orders by them in either direction. */
  readonly sortable: Readonly<Record<string, { readonly asc: string; readonly desc: string }>>;
  /** The field that `search` looks through. */
  readonly searchable?: string;
  /** Whether PUT, PATCH and DELETE need If-Match; undefined: as the operator says. */
  readonly requireIfMatch?: boolean;
  /** Body of a 404 for an absent record: `{error: string}`, or none. */
  readonly absent: 'simple' | 'empty';
}
