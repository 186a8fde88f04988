import type { JsonObject } from '../json.js';
import type { Normalization } from '../validation/normalization.js';

/** Work on documents that SQL alone cannot do. */
export type DocumentWork =
  | { readonly kind: 'fill'; readonly collection: string; readonly columns: readonly string[] }
  | FieldWork;

/** Work that changes the fields in documents. */
export type FieldWork =
  | { readonly kind: 'hide'; readonly collection: string; readonly fields: readonly string[] }
  | { readonly kind: 'prune'; readonly collection: string; readonly fields: readonly string[] }
  /** Values of fields and of members within objects, by their JSON Pointers. Services of version 0.1.0 read this kind, too. */
  | { readonly kind: 'default-within'; readonly collection: string; readonly values: JsonObject }
  | {
      readonly kind: 'normalize';
      readonly collection: string;
      readonly rules: Readonly<Record<string, { readonly steps: readonly Normalization[] }>>;
    }
  | { readonly kind: 'rename'; readonly collection: string; readonly from: string; readonly to: string };

/** One step of a plan. Steps of one transaction take effect together. */
export interface SchemaStep {
  /** The effect of the step, as a sentence without a full stop. */
  readonly title: string;
  /** The statements of the step, in one transaction, unless it is concurrent. */
  readonly sql: readonly string[];
  /** The lock of the step, and how long it lasts. */
  readonly locks: string;
  /** Whether its statements must run outside of a transaction. */
  readonly isConcurrent?: boolean;
  /** Done before the statements. */
  readonly work?: DocumentWork;
  /** The data that the step loses; absent: none. */
  readonly loses?: string;
}

/** A step of statements. */
export const step = (
  title: string,
  locks: string,
  sql: readonly string[],
  more: Partial<Pick<SchemaStep, 'isConcurrent' | 'work' | 'loses'>> = {},
): SchemaStep => ({ title, locks, sql, ...more });

export const lockTable = (table: string): string => `${table}, for an instant`;
export const lockBatch = 'the records of a batch, while it is written';
export const NO_LOCK = 'nothing that delays reads or writes';

/** A text as a literal of SQL. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;
