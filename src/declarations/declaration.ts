import type { DeclaredGrant } from '../collection/resource.js';
import type { Json } from '../json.js';
import type { Normalization } from '../validation/normalization.js';

/** A declared field: its JSON Schema, with the keywords of schema/collection.schema.json. */
export interface DeclaredField {
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly items?: DeclaredItems | boolean;
  readonly writeOnly?: boolean;
  readonly readOnly?: boolean;
  readonly 'x-normalize'?: readonly Normalization[];
  readonly 'x-index'?: boolean;
  readonly 'x-unique'?: boolean | { readonly code: string };
  readonly 'x-search'?: boolean | 'words';
  readonly 'x-references'?: string;
  readonly 'x-on-delete'?: 'cascade' | 'restrict' | 'null';
  readonly 'x-import-only'?: boolean;
  readonly 'x-set'?: SetKeyword;
  readonly 'x-immutable'?: boolean;
  readonly 'x-was'?: string;
}

/** The schema of the items of an array, with the keywords of references to records. */
export interface DeclaredItems extends Pick<DeclaredField, 'format' | 'minLength' | 'maxLength'> {
  readonly type?: string;
  readonly 'x-references'?: string;
  readonly 'x-on-delete'?: 'restrict' | 'remove';
}

/** The source of a field that the service sets: the caller, the time, or a number for each record of a parent or of the collection. */
export type SetKeyword =
  | SetValue
  | {
      readonly value: SetValue;
      readonly on?: 'create' | 'write';
      readonly when?: Readonly<Record<string, Json>>;
    }
  | { readonly next: true | string };

export type SetValue = '$caller' | '$now';

/** The options of a declaration for its collection as a whole. */
export interface CollectionOptions {
  readonly list?: 'page' | 'array';
  readonly sort?: 'created_at' | '-created_at';
  readonly lists?: 'tolerant' | 'strict';
  readonly sortKeys?: 'one' | 'several';
  readonly nested?: boolean | string;
  readonly public?: 'read';
  readonly scopes?: { readonly read?: string; readonly write?: string };
  readonly owner?: boolean;
  readonly language?: string;
  readonly history?: boolean;
  readonly actors?: 'shown' | 'hidden';
  readonly invite?: boolean;
  readonly display?: string;
  readonly group?: string;
  readonly absent?: 'simple' | 'empty';
  readonly access?: readonly DeclaredGrant[];
  readonly requireIfMatch?: boolean;
  readonly ids?: 'client';
  readonly unique?: readonly (
    | readonly string[]
    | { readonly fields: readonly string[]; readonly code: string }
  )[];
  readonly index?: readonly 'updated_at'[];
  readonly was?: string;
}

/** The content of a declaration's file: a JSON Schema of the records. */
export interface DeclaredSchema {
  readonly title?: string;
  readonly type: 'object';
  readonly required?: readonly string[];
  readonly properties: Readonly<Record<string, DeclaredField>>;
  readonly 'x-collection'?: CollectionOptions;
  readonly [keyword: string]: unknown;
}

/** One declared collection. */
export interface Declaration {
  /** The name of the collection, which is the name of the file. */
  readonly name: string;
  /** The path of the file, for messages. */
  readonly file: string;
  readonly schema: DeclaredSchema;
  /** The schemas in other files that this one refers to. */
  readonly referred?: readonly object[];
}

/** An SQL file of the operator, which changes stored records. */
export interface SqlFile {
  readonly name: string;
  readonly text: string;
  readonly checksum: string;
}

/** A fault of a declaration. `pointer` is a JSON Pointer into the file. */
export interface DeclarationFault {
  readonly file: string;
  readonly pointer: string;
  readonly reason: string;
}

/** The schemas of the usual types of fields, by their words. */
export const FIELD_TYPES: ReadonlyMap<string, DeclaredField> = new Map(
  Object.entries({
    string: { type: 'string' },
    text: { type: 'string' },
    number: { type: 'number' },
    integer: { type: 'integer' },
    boolean: { type: 'boolean' },
    date: { type: 'string', format: 'date' },
    'date-time': { type: 'string', format: 'date-time' },
    strings: { type: 'array', items: { type: 'string' } },
    object: { type: 'object' },
  }),
);

/** The schema of a field that refers to a record of a collection, or to several. */
export function referenceTo(collection: string, isMany: boolean): DeclaredField {
  const reference = { type: 'string', format: 'uuid', 'x-references': collection } as const;
  const items = { ...reference, 'x-on-delete': 'remove' } as const;
  return isMany ? { type: 'array', items, maxItems: 100, uniqueItems: true } : reference;
}

/** The declaration of a new collection, without its fields. */
export const newDeclaration = (name: string) => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: titleOf(name),
  type: 'object' as const,
});

/** `order_lines` is Order line. */
function titleOf(name: string): string {
  const words = name.replaceAll('_', ' ').replace(/ies$/, 'y').replace(/s$/, '');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}
