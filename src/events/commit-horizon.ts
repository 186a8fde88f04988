/** What one snapshot of the database shows of the outbox. */
export interface Snapshot {
  /** The newest event that it shows. */
  readonly newest: number;
  /** Events up to here are no longer kept. */
  readonly floor: number;
  /** Every transaction before it had ended. */
  readonly xmin: bigint;
  /** None from it on had begun to write; not the snapshot's xmax, which others that run may be beyond. */
  readonly next: bigint;
}

/** How far the feed can be read. */
export interface Horizon {
  /** Every event up to here that will ever be is visible. */
  readonly at: () => number;
  /** There are events beyond it. */
  readonly isBehind: () => boolean;
  look(sight: Snapshot): void;
}

/**
 * Moves up with what snapshots show, given in the order in which they were taken. An event's place is a number that
 * its transaction drew after it had begun to write. So whoever had not begun at a snapshot draws higher numbers than
 * all that it shows; and once all those have ended that had, no lower one can come any more. docs/events.md has the
 * proof.
 */
export function createHorizon(): Horizon {
  let at = 0;
  let newest = 0;
  let waiting: { readonly newest: number; readonly next: bigint } | undefined;
  return {
    at: () => at,
    isBehind: () => newest > at,
    look: (sight) => {
      newest = Math.max(newest, sight.newest);
      if (waiting && sight.xmin >= waiting.next) {
        at = Math.max(at, waiting.newest);
        waiting = undefined;
      }
      if (sight.newest <= at) return;
      if (sight.xmin >= sight.next) at = sight.newest;
      else waiting ??= { newest: sight.newest, next: sight.next };
    },
  };
}
