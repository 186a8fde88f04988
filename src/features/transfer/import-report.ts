import type { Io } from '../../cli/io.js';
import { print } from '../../cli/output.js';
import type { Progress } from './import-run.js';
import type { Imported } from './import-sources.js';

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
  #omitted = 0;
  #shownAt = Date.now();

  constructor(
    readonly io: Io,
    readonly json: boolean,
    /** Whether nothing is stored. */
    readonly isDryRun: boolean,
  ) {}

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
    this.clearProgress();
    this.io.stderr.write(`${place}: ${reason}\n`);
  }

  /** Shows how far a collection is, now and then: by bytes, since the number of records is not known before the end. */
  proceeded(collection: string, { stored, refused, unchanged, position }: Progress, size: number): void {
    if (Date.now() - this.#shownAt < INTERVAL_MS) return;
    const percentage = Math.floor((100 * position) / Math.max(1, size));
    this.showProgress(`${collection}: ${stored + refused + unchanged} records (${percentage}%)`);
  }

  showProgress(line: string): void {
    this.#shownAt = Date.now();
    if (this.io.stderr.isTTY === true) this.io.stderr.write(`\r${line}\x1b[K`);
  }

  clearProgress(): void {
    if (this.io.stderr.isTTY === true) this.io.stderr.write('\r\x1b[K');
  }

  end(collections: readonly Imported[]): void {
    this.clearProgress();
    if (!this.json && this.#omitted > 0) this.io.stderr.write(`... and ${this.#omitted} more reasons\n`);
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
