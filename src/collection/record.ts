import type { Row } from '../db/db.js';
import type { JsonObject } from '../json.js';

/** A record as it is stored. `doc` is its JSON text, complete except for `_links` (document.ts). */
export interface StoredRecord {
  readonly id: string;
  readonly version: number;
  readonly doc: string;
  /** The part that a caller may not read, which `doc` does not have; absent: the caller may read all fields. */
  readonly hidden?: HiddenPart | undefined;
}

/** The part of a record that a caller may not read. */
export interface HiddenPart {
  readonly values: () => JsonObject;
  /** The names of the fields that the caller may read, whether the record has them or not. */
  readonly readable: ReadonlySet<string>;
}

/** Why there is no record: there never was one, or it was deleted and the service stores tombstones. */
export type NotFoundReason = 'absent' | 'gone';

/** A write that its preconditions prevented, with the record as the statement found it. */
export interface PreconditionFailed {
  readonly current: StoredRecord;
}

/** Whether a write has taken place. */
export function isStored(outcome: unknown): outcome is StoredRecord {
  return typeof outcome === 'object' && outcome !== null && 'doc' in outcome;
}

/** The result of a statement with preconditions that found a row and did not write it. */
export function preconditionFailedOn(id: string, row: Row): PreconditionFailed {
  return { current: { id, version: row.before as number, doc: row.doc as string } };
}
