import type { Db } from '../../db/db.js';
import { statements } from '../../db/statements.js';
import type { Log } from '../../telemetry/log.js';
import { singleFlight } from '../../work/shared-runs.js';
import type { WalPosition } from './wal-position.js';

/** The statements of the feature. */
export const REPLICAS_SQL = statements('features/replicas/replicas.sql', ['replayed', 'written']);

const REPLAYED = REPLICAS_SQL.replayed;

/** A standby of the database. */
export class Replica {
  /** Up to where it shows the writes of the primary, at least. Undefined: it cannot be used. */
  replayed: WalPosition | undefined;
  /** Looks where it is; does not reject. Concurrent calls share one query. */
  readonly look: () => Promise<void>;

  /** `name`: host and port, for the log. */
  constructor(
    readonly name: string,
    readonly db: Db,
    log: Log,
  ) {
    let isReported = false;
    this.look = singleFlight(async () => {
      let reason: unknown = 'it is no standby';
      try {
        const [row] = await db.run(REPLAYED, []);
        this.replayed = (row!.position as number | null) ?? undefined;
      } catch (error) {
        this.replayed = undefined;
        reason = error;
      }
      const isUsable = this.replayed !== undefined;
      if (isUsable && isReported) log.warn({ replica: name }, 'a replica is used again');
      if (!isUsable && !isReported) log.warn({ replica: name, err: reason }, 'a replica cannot be used');
      isReported = !isUsable;
    });
  }

  /** Must be called when a statement failed: it may have gone away since the last look. */
  suspect(): void {
    this.replayed = undefined;
    void this.look();
  }
}
