import { stopwatch } from '../pause.js';
import type { Finished } from './control.js';

const SLOWEST = 10;

/** Prints each file and its failures when it ends, and at the end the slowest ones and the seed of the order. */
export class Progress {
  readonly #files: Finished[] = [];
  readonly #elapsedMs = stopwatch();

  constructor(
    readonly total: number,
    readonly seed: number,
  ) {
    this.#print(`${total} files in the order of --seed=${seed}`);
  }

  finished(file: Finished): void {
    this.#files.push(file);
    const mark = file.failures.length === 0 ? 'passed' : 'FAILED';
    this.#print(
      `${this.#files.length}/${this.total} ${mark} ${file.name} ${seconds(file.ms)} (CPU ${seconds(file.cpuMs)})`,
    );
    for (const failure of file.failures) process.stderr.write(`${failure}\n`);
  }

  end(): void {
    const slowest = [...this.#files].sort((a, b) => b.ms - a.ms).slice(0, SLOWEST);
    if (this.#files.length > 1)
      for (const { name, ms, cpuMs } of slowest)
        this.#print(`slowest: ${seconds(ms)} (CPU ${seconds(cpuMs)}) ${name}`);
    for (const { name } of this.#files.filter(({ failures }) => failures.length > 0))
      this.#print(`failed: ${name}`);
    this.#print(`${this.#files.length} files in ${seconds(this.#elapsedMs())}, --seed=${this.seed}`);
  }

  #print(line: string): void {
    process.stderr.write(`# ${line}\n`);
  }
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
