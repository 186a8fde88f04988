import type { FieldRules } from '../validation.js';

/** What a collection declares. Only the first three members are required. */
export interface Declaration extends Pick<FieldRules, 'schema'>, Partial<Pick<FieldRules, 'normalize'>> {
  /** The collection's name: its path segment and its table. */
  readonly name: string;
  /** The word for one record in messages and codes: `user`. */
  readonly singular: string;
  /** Fields that an import may set and a request may not. */
  readonly importOnly?: readonly string[];
  /** Fields that have a column of their own besides the document: field -> column. */
  readonly columns?: Readonly<Record<string, string>>;
  /** Unique fields: constraint -> its field, and the code of the 409 (default: DUPLICATE). */
  readonly unique?: Readonly<Record<string, { readonly field: string; readonly code?: 'EMAIL_TAKEN' }>>;
  /** The field that names the record's parent, and the parent's collection. */
  readonly parent?: { readonly field: string; readonly resource: Resource };
  /** Whether the records are the callers that may authenticate; the scope `self` is about these and their children. */
  readonly owner?: boolean;
  /** The form of a list without parameters: the first page, or an array of everything (default). */
  readonly list?: 'page' | 'array';
  /** Direction of the default order, by created_at (default: asc). */
  readonly direction?: 'asc' | 'desc';
  /** Sortable fields besides created_at, with the SQL for either direction. */
  readonly sortable?: Readonly<Record<string, { readonly asc: string; readonly desc: string }>>;
  /** The field that `search` searches. */
  readonly searchable?: string;
  /** Whether PUT, PATCH and DELETE need If-Match; undefined: as the operator decides. */
  readonly requireIfMatch?: boolean;
  /** Body of the 404 for a missing record: `{error: string}`, or none (default). */
  readonly absent?: 'simple' | 'empty';
}

type WithDefaults = 'normalize' | 'columns' | 'unique' | 'list' | 'direction' | 'sortable' | 'absent';

/** A collection as data: a declaration with its defaults, and the names of the collections nested under it. */
export type Resource = Declaration &
  Required<Pick<Declaration, WithDefaults>> & { readonly children: readonly string[] };

const DEFAULTS: Required<Pick<Declaration, WithDefaults>> = {
  normalize: {},
  columns: {},
  unique: {},
  list: 'array',
  direction: 'asc',
  sortable: {},
  absent: 'empty',
};

/** Declares a collection. */
export function defineResource(declaration: Declaration): Resource {
  return { ...DEFAULTS, ...declaration, children: [] };
}

/** The resources with the names of their children, which follow from the parents that the others declare. */
export function withChildren(resources: readonly Resource[]): Resource[] {
  const childrenOf = (name: string) => resources.filter(({ parent }) => parent?.resource.name === name);
  return resources.map((resource) => ({
    ...resource,
    children: childrenOf(resource.name).map(({ name }) => name),
  }));
}

/** Whether the records belong to callers, so that the scope `self` applies to them. */
export function isOwned(resource: Resource): boolean {
  return resource.parent?.resource.owner === true;
}
