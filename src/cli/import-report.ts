import type { Imported } from '../transfer/import-sources.js';
import type { ImportProgress } from './import-progress.js';
import { print } from './output.js';

/** Refusals that the JSON document lists; more are counted. */
const MAX_REFUSALS = 1000;

/** What an import prints: lines as it goes on, or with --json one document at the end. */
export class ImportReport {
  readonly #notes: string[] = [];
  readonly #refusals: { readonly place: string; readonly reason: string }[] = [];
  #omitted = 0;

  constructor(readonly json: boolean) {}

  note(...lines: readonly string[]): void {
    if (this.json) this.#notes.push(...lines);
    else for (const line of lines) process.stdout.write(`${line}\n`);
  }

  refused(place: string, reason: string, progress: ImportProgress): void {
    if (!this.json) progress.print(`${place}: ${reason}`);
    else if (this.#refusals.length < MAX_REFUSALS) this.#refusals.push({ place, reason });
    else this.#omitted++;
  }

  end(collections: readonly Imported[]): void {
    const lines = collections.map(
      ({ collection, stored, refused }) => `${collection}: ${stored} stored, ${refused} refused\n`,
    );
    const document = {
      collections: collections.map(({ collection, stored, refused }) => ({ collection, stored, refused })),
      refusals: this.#refusals,
      refusals_omitted: this.#omitted,
      notes: this.#notes,
    };
    print(this.json, document, lines.join(''));
  }
}
