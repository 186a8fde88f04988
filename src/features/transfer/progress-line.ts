import type { Io, Output } from '../../cli/io.js';

/** The interval of the progress. */
const INTERVAL_MS = 100;

/** Progress on the standard error output, if it is a terminal: one line, which is overwritten. */
export class ImportProgress {
  readonly #out: Output;
  readonly #isShown: boolean;
  #shownAt = Date.now();

  constructor({ stderr }: Io) {
    this.#out = stderr;
    this.#isShown = stderr.isTTY === true;
  }

  /** Shows how far a collection is: by bytes, since the number of records is not known before the end. */
  showRecords(collection: string, records: number, position: number, size: number | undefined): void {
    const percentage = size === undefined ? '' : ` (${Math.floor((100 * position) / Math.max(1, size))}%)`;
    this.show(`${collection}: ${records} records${percentage}`);
  }

  /** Shows a line if the last is old enough; `isDue`: in any case. */
  show(line: string, isDue = false): void {
    if (!this.#isShown || (!isDue && Date.now() - this.#shownAt < INTERVAL_MS)) return;
    this.#shownAt = Date.now();
    this.#out.write(`\r${line}\x1b[K`);
  }

  /** Prints a line that stays. */
  print(line: string): void {
    this.clear();
    this.#out.write(`${line}\n`);
  }

  clear(): void {
    if (this.#isShown) this.#out.write('\r\x1b[K');
  }
}
