import type { ColumnValue } from '../../collection/column.js';
import type { ValidatedInput } from '../../collection/validated-input.js';
import type { Json } from '../../json.js';
import type { RecordIdentity } from './record-identity.js';

/** A record that has been read, on its way into the database. */
export interface ImportRow {
  readonly place: number;
  identity: RecordIdentity;
  /** The id in the file, as text. */
  readonly oldId: string | undefined;
  /** Whether the record stores its old id, by which later imports find it. */
  readonly storesOldId: boolean;
  /** The record as the file has it. */
  readonly given: Json;
  /** The record with new ids in its references. */
  record: Json;
  /** Why it is refused, found before it was validated. */
  readonly faults: { readonly field: string; readonly error: unknown }[];
  /** The ids of records to which it refers, and that the import stores, perhaps later. */
  readonly expected: Set<string>;
  /** Set when it is valid. */
  row: Row | undefined;
}

/** A valid record as it is stored. */
export interface Row {
  readonly id: string;
  readonly version: number;
  readonly updatedAt: string;
  /** The document up to its version. */
  readonly head: string;
  readonly columns: ColumnValue[];
  readonly input: ValidatedInput;
  passwordHash: string | undefined;
  /** References that are set when the records to which they refer are stored. */
  readonly deferred: { readonly field: string; readonly target: string }[];
}

/** Called for each record that is refused, with the error that it caused. */
export type Refuse = (draft: Pick<ImportRow, 'place'> & Partial<ImportRow>, error: unknown) => void;
