import type { Io } from '../../cli/io.js';
import { print } from '../../cli/output.js';
import type { Position } from './chunks.js';

/** How far the import of a collection has got. It goes on at the record whose place it has. */
export interface Progress extends Position {
  readonly stored: number;
  readonly refused: number;
  /** Records whose id was in use, and that were left out. */
  readonly unchanged: number;
  /** Whether the records keep their ids. */
  readonly retainsIds: boolean;
  readonly finished: boolean;
}

/** Refusals that the JSON document lists, and that are printed as lines; more are counted. */
const [MAX_REFUSALS, MAX_LINES] = [1000, 100];

/** The interval of the progress. */
const INTERVAL_MS = 100;

/**
 * The output of an import: lines as it proceeds, or with --json one document at the end; and its progress on the standard error
 * output, if that is a terminal: one line, which is overwritten.
 */
export class ImportReport {
  readonly #notes: string[] = [];
  readonly #refusals: { readonly place: string; readonly reason: string }[] = [];
  readonly #progress = new Map<string, Progress>();
  #omitted = 0;
  #shownAt = Date.now();

  constructor(
    readonly io: Io,
    readonly json: boolean,
    /** Whether nothing is stored. */
    readonly isDryRun: boolean,
  ) {}

  /** Whether the import of a collection has begun. */
  get hasBegun(): boolean {
    return this.#progress.size > 0;
  }

  /** The records of all collections that have an outcome. */
  count(outcome: 'stored' | 'refused' | 'unchanged'): number {
    return [...this.#progress.values()].reduce((sum, each) => sum + each[outcome], 0);
  }

  note(...lines: readonly string[]): void {
    if (this.json) this.#notes.push(...lines);
    else for (const line of lines) this.io.stdout.write(`${line}\n`);
  }

  refused(place: string, reason: string): void {
    if (this.#refusals.length === (this.json ? MAX_REFUSALS : MAX_LINES)) {
      this.#omitted++;
      return;
    }
    this.#refusals.push({ place, reason });
    if (this.json) return;
    this.showProgress('');
    this.io.stderr.write(`${place}: ${reason}\n`);
  }

  /** Notes how far a collection is, and shows it now and then: by bytes, since the number of records is not known before the end. */
  proceeded(collection: string, progress: Progress, size: number): void {
    this.#progress.set(collection, progress);
    if (Date.now() - this.#shownAt < INTERVAL_MS) return;
    const { stored, refused, unchanged, position } = progress;
    const percentage = Math.floor((100 * position) / Math.max(1, size));
    this.showProgress(`${collection}: ${stored + refused + unchanged} records (${percentage}%)`);
  }

  /** Shows a line in place of the one before; empty: there is none any more. */
  showProgress(line: string): void {
    this.#shownAt = Date.now();
    if (this.io.stderr.isTTY === true) this.io.stderr.write(`\r${line}\x1b[K`);
  }

  end(): void {
    this.showProgress('');
    if (!this.json && this.#omitted > 0) this.io.stderr.write(`... and ${this.#omitted} more reasons\n`);
    const collections = [...this.#progress].map(([collection, { stored, refused, unchanged }]) => ({
      ...{ collection, stored, refused, unchanged },
    }));
    const lines = collections.map(({ collection, stored, refused, unchanged }) => {
      const rest = unchanged === 0 ? '' : `, ${unchanged} unchanged`;
      return `${collection}: ${stored} ${this.isDryRun ? 'valid' : 'stored'}, ${refused} refused${rest}\n`;
    });
    const document = {
      ...(this.isDryRun && { dry_run: true }),
      collections,
      refusals: this.#refusals,
      refusals_omitted: this.#omitted,
      notes: this.#notes,
    };
    print(this.io, this.json, document, lines.join(''));
  }
}
