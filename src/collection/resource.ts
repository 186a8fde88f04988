/** A step that a field's value goes through before it is validated, in the order declared. */
export type Normalization = 'trim' | 'nfc' | 'lower' | 'integer';

/** A collection as data: what `resources/*.ts` declare and `collection.ts` opens. */
export interface Resource {
  /** The collection's name: its path segment and its table. */
  readonly name: string;
  /** One record, as a word for messages: `user`. */
  readonly singular: string;
  /** JSON Schema of the client's fields; fields it does not name are kept as they are, unless it says otherwise. */
  readonly schema: {
    readonly type: 'object';
    readonly required: readonly string[];
    readonly additionalProperties?: boolean;
    readonly properties: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  };
  /** Fields that an import may set and a request may not. */
  readonly importOnly?: readonly string[];
  /** What happens to a field before validation. */
  readonly normalize: Readonly<Record<string, readonly Normalization[]>>;
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
