import type { Json } from '../../json.js';
import type { Refuse } from './import-row.js';

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
  readonly add: Refuse = ({ place, given }, error) => {
    const refusal = this.#byPlace.get(place);
    if (refusal) refusal.errors.push(error);
    else this.#byPlace.set(place, { place, given, errors: [error] });
  };

  /** `strict`: the first refusal ends the import. */
  constructor(readonly strict: boolean) {}

  has(place: number): boolean {
    return this.#byPlace.has(place);
  }

  get size(): number {
    return this.#byPlace.size;
  }

  /** In the order of the file. */
  get list(): readonly RefusedRecord[] {
    return [...this.#byPlace.values()].sort((a, b) => a.place - b.place);
  }

  /** The place from which on nothing is stored. */
  get end(): number {
    return this.strict ? Math.min(...this.#byPlace.keys()) : Number.POSITIVE_INFINITY;
  }
}
