import type { WalPosition } from './wal-position.js';

/** Samples that are retained: those of a minute, at the interval of replicas.ts. */
const MAX_SAMPLES = 240;

interface Sample {
  readonly at: number;
  readonly position: WalPosition;
}

/** Where the primary's log was at which moment, from which the age of a replica follows. */
export class ReplicaAge {
  #samples: Sample[] = [];

  /** Adds the position that the primary had at a moment, or later. */
  add(at: number, position: WalPosition): void {
    // After a failover that lost writes, the log continues at an earlier position.
    if (position < (this.#samples.at(-1)?.position ?? 0)) this.#samples = [];
    this.#samples.push({ at, position });
    if (this.#samples.length > MAX_SAMPLES) this.#samples.shift();
  }

  /** For how long at most what a replica shows has been outdated, in milliseconds. */
  of(replayed: WalPosition, now: number): number {
    const sample = this.#samples.findLast(({ position }) => position <= replayed);
    return sample ? now - sample.at : Number.POSITIVE_INFINITY;
  }
}
