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
}

/** A valid record as it is stored. */
export interface Row extends Draft {
  input: ValidatedInput;
  /** The document up to its version. */
  head: string;
  columns: ColumnValue[];
}

/** A record that was refused, and everything that is wrong with it. */
export interface RefusedRecord {
  readonly place: number;
  /** The record, if it could be read. */
  readonly given: Json | undefined;
  readonly errors: unknown[];
}

/** The records of a chunk that were refused. */
export class ImportErrors {
  readonly #byPlace = new Map<number, RefusedRecord>();

  readonly add = (
    { place, given }: Pick<Draft, 'place'> & { readonly given?: Json },
    error: unknown,
  ): void => {
    const refusal = this.#byPlace.get(place);
    if (refusal) refusal.errors.push(error);
    else this.#byPlace.set(place, { place, given, errors: [error] });
  };

  has(place: number): boolean {
    return this.#byPlace.has(place);
  }

  /** In the order of the file. */
  get list(): readonly RefusedRecord[] {
    return [...this.#byPlace.values()].sort((a, b) => a.place - b.place);
  }
}

/** Called for each record that is refused, with the error that it caused. */
export type Refuse = ImportErrors['add'];
