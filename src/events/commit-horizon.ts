/** The state of the outbox in one query. */
export interface Snapshot {
  /** The newest event that it shows. */
  readonly newest: number;
  /** Events up to here have expired. */
  readonly floor: number;
  /** Every transaction before this one had ended. */
  readonly xmin: bigint;
  /** No transaction from this one on had begun to write. It is not the snapshot's xmax. */
  readonly next: bigint;
  /** Where the log of the database (WAL) was, or was beyond, when the snapshot was taken. */
  readonly written: number;
  /** The number of the newest epoch. */
  readonly epoch: number;
}

/** Snapshots of which the horizon is remembered, for replicas. */
const MAX_MARKS = 256;

/**
 * The position up to which the feed is final: every event up to it that will ever exist is visible.
 *
 * A transaction draws the number of an event after it has begun to write. So a transaction that had not begun to write at
 * a snapshot draws higher numbers than all that the snapshot shows. Once all transactions that had begun have ended, no
 * lower number can appear any more.
 */
export class CommitHorizon {
  #position = 0;
  #newest = 0;
  #marks: { readonly position: number; readonly written: number }[] = [];
  /** A snapshot's newest event, which becomes final when every transaction before `next` has ended. */
  #pending: { readonly newest: number; readonly next: bigint } | undefined;

  get position(): number {
    return this.#position;
  }

  /** The horizon as a replica knows it that shows the log up to `replayed`; undefined: it is too far behind. */
  positionAt(replayed: number): number | undefined {
    return this.#marks.findLast(({ written }) => written <= replayed)?.position;
  }

  /** Whether there are events that are not final yet. */
  get isBehind(): boolean {
    return this.#newest > this.#position;
  }

  /** Starts anew, in another history of the database that shares the events up to `position`. */
  restart(position: number): void {
    this.#position = Math.min(this.#position, position);
    this.#newest = this.#position;
    this.#pending = undefined;
    this.#marks = [];
  }

  /** Moves the horizon. Snapshots must be given in the order in which they were taken. */
  update(snapshot: Snapshot): void {
    this.#advance(snapshot);
    this.#marks.push({ position: this.#position, written: snapshot.written });
    if (this.#marks.length > MAX_MARKS) this.#marks.shift();
  }

  #advance({ newest, xmin, next }: Snapshot): void {
    this.#newest = Math.max(this.#newest, newest);
    if (this.#pending && xmin >= this.#pending.next) {
      this.#position = Math.max(this.#position, this.#pending.newest);
      this.#pending = undefined;
    }
    if (newest <= this.#position) return;
    if (xmin >= next) this.#position = newest;
    else this.#pending ??= { newest, next };
  }
}
