import type { ColumnValue } from '../../collection/column.js';
import type { ValidatedInput } from '../../collection/validated-input.js';
import type { Json } from '../../json.js';
import type { RecordIdentity } from './record-identity.js';

/** A record that was read. */
export interface Draft extends RecordIdentity {
  readonly place: number;
  /** The record as the file has it. */
  readonly given: Json;
  /** The record with its old id in the field for it. */
  readonly record: Json;
  /** The id in the file, as text. */
  readonly oldId: string | undefined;
  /** Whether the record stores its old id, by which later imports find it. */
  readonly storesOldId: boolean;
}

/** A valid record as it is stored. */
export interface Row extends Omit<Draft, 'record'> {
  readonly input: ValidatedInput;
  /** The document up to its version. */
  readonly head: string;
  readonly columns: ColumnValue[];
  /** The ids of records to which it refers, and that the import stores, perhaps later. */
  readonly expected: ReadonlySet<string>;
}

/** Called for each record that is refused, with the error that it caused. */
export type Refuse = (record: Pick<Row, 'place'> & { readonly given?: Json }, error: unknown) => void;
