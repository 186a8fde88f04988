import type { ExpressedSelection, Expression, Selection } from './condition.js';
import type { Keyset, Position } from './keyset.js';
import type { View } from './read-fields-and-includes.js';
import type { SortKey } from './read-sort.js';

/** Maximum records of a page. */
export const MAX_LIMIT = 100;

/** Maximum code points of a search. */
export const MAX_SEARCH = 100;

/** The part of a list that a response contains: all of it, or a page that is numbered or begins at a cursor. */
export type Part =
  | { readonly kind: 'all' }
  | { readonly kind: 'numbered'; readonly page: number; readonly limit: number }
  | {
      readonly kind: 'keyset';
      readonly limit: number;
      readonly position: Position | undefined;
      /** Identifies the list in its cursors. */
      readonly identity: string;
    };

export type NumberedPart = Extract<Part, { kind: 'numbered' }>;
export type KeysetPart = Extract<Part, { kind: 'keyset' }>;

/** A list as a client requested it, in the parameters of an address or in a body. */
export interface ListRequest extends View {
  readonly selection: Selection;
  /** The order: at least one key. */
  readonly sorts: readonly SortKey[];
  /** The columns that have the order. */
  readonly keyset: Keyset;
  /** Whether the response has the number of records that are selected. */
  readonly counts: boolean;
  readonly part: Part;
  /** The parameters besides those of the part, as given, which the links of a page repeat: `sort=name&order=asc`. */
  readonly repeated: string;
  /** The text that is searched for, as it was given. */
  readonly search: string;
}

/** A list whose response is a page. */
export type PageRequest = ListRequest & { readonly part: NumberedPart | KeysetPart };

export const isPage = (list: ListRequest): list is PageRequest => list.part.kind !== 'all';

/** Maximum records of a slice whose documents are too large for one text. A slice with more has the ids of these and of one more. */
export const MAX_LARGE_RECORDS = 10_000;

/** Some records of a list in an order that a feature has: those from one place to another. */
export interface SliceRequest {
  readonly selection: ExpressedSelection;
  /** SQL of keys with their directions. Records with equal keys are in the order of their ids. */
  readonly order: readonly Expression[];
  /** The place of the first record, and the place after the last; undefined: the end. Negative ones count from the end. */
  readonly start: number;
  readonly end: number | undefined;
}
