import { EventEmitter, once } from 'node:events';
import type { TestFile } from './files.js';

/** The files that wait for a worker. Of files that need the same thing of the machine, one runs at a time. */
export class FileQueue {
  readonly #waiting: TestFile[];
  readonly #needed = new Set<string>();
  readonly #changes = new EventEmitter();

  constructor(files: readonly TestFile[]) {
    this.#waiting = [...files];
  }

  /** The files that no worker has begun. */
  get left(): readonly TestFile[] {
    return this.#waiting;
  }

  /** Resolves to the next file that may run; undefined: there is none left. */
  async next(): Promise<TestFile | undefined> {
    for (;;) {
      const at = this.#waiting.findIndex(({ needs }) => needs === undefined || !this.#needed.has(needs));
      const [file] = at < 0 ? [] : this.#waiting.splice(at, 1);
      if (file?.needs !== undefined) this.#needed.add(file.needs);
      if (file !== undefined || this.#waiting.length === 0) return file;
      await once(this.#changes, 'finished');
    }
  }

  /** Lets the next file have what this one needed. */
  finished({ needs }: Pick<TestFile, 'needs'>): void {
    if (needs !== undefined) this.#needed.delete(needs);
    this.#changes.emit('finished');
  }
}
