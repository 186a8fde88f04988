/** Intervals of the progress: a line that is overwritten on a terminal, a line of its own elsewhere. */
const TERMINAL_MS = 100;
const LINE_MS = 10_000;

/** Progress on the standard error output. */
export class ImportProgress {
  #shownAt = Date.now();

  /** Shows how far a collection is: by bytes, since the number of records is not known before the end. */
  showRecords(collection: string, records: number, position: number, size: number | undefined): void {
    const percentage = size === undefined ? '' : ` (${Math.floor((100 * position) / Math.max(1, size))}%)`;
    this.show(`${collection}: ${records} records${percentage}`);
  }

  /** Shows a line if the last is old enough; `isDue`: in any case on a terminal. */
  show(line: string, isDue = false): void {
    const { isTTY } = process.stderr;
    const isOld = Date.now() - this.#shownAt >= (isTTY ? TERMINAL_MS : LINE_MS);
    if (!isOld && !(isDue && isTTY)) return;
    this.#shownAt = Date.now();
    process.stderr.write(isTTY ? `\r${line}\x1b[K` : `${line}\n`);
  }

  /** Prints a line that stays. */
  print(line: string): void {
    this.clear();
    process.stderr.write(`${line}\n`);
  }

  clear(): void {
    if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
  }
}
