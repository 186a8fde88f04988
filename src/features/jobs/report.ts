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
  stored: number;
  refused: number;
  omitted: number;
  readonly faults: RecordFault[];

  /** `before`: the part of the body that was reported before. */
  constructor(
    readonly resource: Resource,
    { stored = 0, refused = 0, omitted = 0, faults = [] }: Partial<ReportState> = {},
  ) {
    [this.stored, this.refused, this.omitted, this.faults] = [stored, refused, omitted, [...faults]];
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
    const isFull = this.omitted > 0 || this.faults.length === MAX_FAULTS;
    if (isFull || Buffer.byteLength(JSON.stringify([...this.faults, fault])) > MAX_FAULT_BYTES)
      this.omitted++;
    else this.faults.push(fault);
  }

  /** `isUndone`: what was stored is rolled back. */
  result(isUndone: boolean): CreationReport {
    const { stored, refused, omitted, faults } = this;
    return { meta: { records: stored + refused, stored: isUndone ? 0 : stored, refused, omitted }, faults };
  }
}
