import type { Io } from '../../cli/io.js';
import { print } from '../../cli/output.js';
import type { Imported } from './import-sources.js';
import type { ImportProgress } from './progress-line.js';

/** Refusals that the JSON document lists; more are counted. */
const MAX_REFUSALS = 1000;
/** Refusals that are printed as lines. */
const MAX_LINES = 100;

/** The output of an import: lines as it proceeds, or with --json one document at the end. */
export class ImportReport {
  readonly #notes: string[] = [];
  readonly #refusals: { readonly place: string; readonly reason: string }[] = [];
  #omitted = 0;

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

  refused(place: string, reason: string, progress: ImportProgress): void {
    if (this.#refusals.length === (this.json ? MAX_REFUSALS : MAX_LINES)) {
      this.#omitted++;
      return;
    }
    this.#refusals.push({ place, reason });
    if (!this.json) progress.print(`${place}: ${reason}`);
  }

  end(collections: readonly Imported[]): void {
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
