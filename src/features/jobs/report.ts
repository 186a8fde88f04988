import type { Resource } from '../../collection/resource.js';
import { turn } from '../../limits/turn.js';
import type { RefusedRecord } from '../transfer/import-row.js';
import { faultsOf } from '../transfer/refusal-reasons.js';

/** Why a record was refused, and which one. */
export interface RecordFault {
  /** The line of the body on which the record begins. */
  readonly line: number;
  /** A JSON Pointer to the field; empty: the whole record. */
  readonly pointer: string;
  readonly code: string;
  readonly message: string;
  /** The beginning of the value, as JSON. */
  readonly value?: string;
}

/** The result of a creation of many records. */
export interface CreationReport {
  readonly meta: {
    readonly records: number;
    readonly stored: number;
    readonly refused: number;
    /** Faults that the list does not have. */
    readonly omitted: number;
  };
  readonly faults: readonly RecordFault[];
}

/** Bounds of the list of faults, with which a response can still be stored for a repeat. */
const MAX_FAULTS = 100;
const MAX_FAULT_BYTES = 49_152;

/** A report that is not complete. */
export type ReportState = Readonly<Pick<Report, 'stored' | 'refused' | 'omitted' | 'faults'>>;

/** Counts records, and lists why some are refused. */
export class Report {
  stored = 0;
  refused = 0;
  omitted = 0;
  readonly faults: RecordFault[] = [];
  #bytes = 0;

  /** `before`: the part of the body that was reported before. */
  constructor(
    readonly resource: Resource,
    before?: ReportState,
  ) {
    if (!before) return;
    const { stored, refused, omitted, faults } = before;
    for (const fault of faults) this.#list(fault);
    [this.stored, this.refused, this.omitted] = [stored, refused, omitted];
  }

  get state(): ReportState {
    const { stored, refused, omitted, faults } = this;
    return { stored, refused, omitted, faults };
  }

  /** Whether further faults are only counted. */
  get isFull(): boolean {
    return this.omitted > 0;
  }

  async add(stored: number, refusals: readonly RefusedRecord[]): Promise<void> {
    this.stored += stored;
    this.refused += refusals.length;
    for (const { place: line, errors, given } of refusals) {
      await turn();
      for (const error of errors)
        for (const { path: pointer, value, ...fault } of faultsOf(error, this.resource, given))
          this.#list({ line, pointer, ...fault, ...(value !== undefined && { value }) });
    }
  }

  #list(fault: RecordFault): void {
    const bytes = Buffer.byteLength(JSON.stringify(fault));
    if (this.omitted > 0 || this.faults.length === MAX_FAULTS || this.#bytes + bytes > MAX_FAULT_BYTES) {
      this.omitted++;
      return;
    }
    this.#bytes += bytes;
    this.faults.push(fault);
  }

  /** `isUndone`: what was stored is rolled back. */
  result(isUndone: boolean): CreationReport {
    const { stored, refused, omitted, faults } = this;
    return { meta: { records: stored + refused, stored: isUndone ? 0 : stored, refused, omitted }, faults };
  }
}
