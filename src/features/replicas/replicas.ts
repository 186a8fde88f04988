import { setTimeout as sleep } from 'node:timers/promises';
import QuickLRU from 'quick-lru';
import { createBatcher } from '../../db/batcher.js';
import type { Db } from '../../db/db.js';
import { eachServer } from '../../db/open-database.js';
import type { Request } from '../../http/request.js';
import { sharing } from '../../telemetry/instruments.js';
import type { Log } from '../../telemetry/log.js';
import { REPLICAS_SQL, Replica } from './replica.js';
import { acceptedAgeMs, requiredPosition, type WalPosition, WRITE_POSITION } from './wal-position.js';

/** Interval of the looks at all servers, while there are reads; milliseconds. */
const LOOK_MS = 250;
/** Without reads for this time, there are no looks. */
const IDLE_MS = 5000;
/** How long a read waits for a replica that has what it requires, and how often it looks; milliseconds. */
const WAIT_MS = 200;
const WAIT_LOOK_MS = 5;
/** How long the response to a write waits for its position; milliseconds. */
const POSITION_MS = 1000;
/** Principals whose last write is remembered. */
const MAX_PRINCIPALS = 10_000;
const WRITTEN = REPLICAS_SQL.written;

/** The requirements of a request for the server that it reads from. */
interface Requirement {
  readonly position: WalPosition;
  readonly maxAgeMs: number;
}

export interface ReplicaSettings {
  /** The URL of all replicas. */
  readonly databaseReadUrl: string;
  /** How old what a replica shows may be, and for how long a principal's own writes are remembered; milliseconds. */
  readonly readMaxAgeMs: number;
  /** Whether collections have access rules: what these permit is read from the primary. */
  readonly hasRules: boolean;
}

/** Chooses which replica reads, so that each principal sees its own writes and nothing is older than allowed. */
export class Replicas {
  readonly all: readonly Replica[];
  readonly #age = new ReplicaAge();
  readonly #written: QuickLRU<string, WalPosition>;
  readonly #findPosition: (key: 'now') => Promise<WalPosition>;
  readonly #timer: NodeJS.Timeout;
  #isPrimaryAway = false;
  #lastReadAt = Number.NEGATIVE_INFINITY;
  #turn = 0;

  /** `open` opens the pools of one server. */
  constructor(
    readonly settings: ReplicaSettings,
    readonly primary: Db,
    open: (url: string) => Db,
    log: Log,
    /** Whether what a replica shows is far enough for the cursors of the feed. */
    readonly hasCursor: (replayed: WalPosition) => boolean,
  ) {
    this.all = eachServer(settings.databaseReadUrl).map(({ name, url }) => new Replica(name, open(url), log));
    this.#written = new QuickLRU({ maxSize: MAX_PRINCIPALS, maxAge: settings.readMaxAgeMs });
    // Callers share a query that has not begun: its position comes after their writes.
    this.#findPosition = createBatcher<'now', WalPosition>(
      {
        max: 1,
        inFlight: 1,
        waiting: 1,
        keyOf: () => '',
        sharing: sharing(primary.metrics, 'look', 'replicas'),
      },
      async () => [(await primary.run(WRITTEN, []))[0]!.position as number],
    );
    this.#timer = setInterval(() => {
      if (performance.now() - this.#lastReadAt < IDLE_MS) void this.#look();
    }, LOOK_MS).unref();
  }

  /** The replica that a request may read from; undefined: the primary has to. Throws 400. */
  choose(request: Request): Promise<Replica | undefined> | Replica | undefined {
    const { headers, principal, permission } = request;
    const position = requiredPosition(headers[WRITE_POSITION.toLowerCase()]);
    // Some reads of a caller's own records lock them, so all of them are the primary's.
    if (permission !== 'all') return undefined;
    // A replica may still have the membership that has ended.
    if (this.settings.hasRules && !principal.scopes.has('admin')) return undefined;
    const required = {
      position: Math.max(position, this.#written.get(principal.subject) ?? 0),
      maxAgeMs: this.#maxAgeMs(acceptedAgeMs(headers['cache-control'])),
    };
    const now = performance.now();
    const wasIdle = now - this.#lastReadAt >= IDLE_MS;
    this.#lastReadAt = now;
    if (required.maxAgeMs <= 0) return undefined;
    if (wasIdle) void this.#look();
    const found = this.#find(required, now);
    if (found || required.position === 0) return found;
    return this.#untilReplayed(required);
  }

  /** Must be called after each write. Adds its position to the fields of the response, if the primary tells it. */
  async noteWrite(subject: string, fields: string[]): Promise<void> {
    try {
      const late = sleep<undefined>(POSITION_MS, undefined, { ref: false });
      const position = await Promise.race([this.#findPosition('now'), late]);
      this.#written.set(subject, position ?? Number.POSITIVE_INFINITY);
      if (position !== undefined) fields.push(WRITE_POSITION, position.toString(36));
    } catch {
      // The principal's reads go to the primary for a while.
      this.#written.set(subject, Number.POSITIVE_INFINITY);
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.all.map(({ db }) => db.close()));
  }

  /** While the primary is away, nothing is written: what a client says is the only limit. */
  #maxAgeMs(accepted: number | undefined): number {
    return accepted ?? (this.#isPrimaryAway ? Number.POSITIVE_INFINITY : this.settings.readMaxAgeMs);
  }

  #find({ position, maxAgeMs }: Requirement, now: number): Replica | undefined {
    for (let n = 0; n < this.all.length; n++) {
      const replica = this.all[this.#turn++ % this.all.length]!;
      const { replayed } = replica;
      if (replayed === undefined || replayed < position || !this.hasCursor(replayed)) continue;
      if (maxAgeMs === Number.POSITIVE_INFINITY || this.#age.of(replayed, now) <= maxAgeMs) return replica;
    }
    return undefined;
  }

  /** Looks at the replicas until one has what a read requires, for a short time. */
  async #untilReplayed(required: Requirement): Promise<Replica | undefined> {
    if (required.position === Number.POSITIVE_INFINITY) return undefined;
    const end = performance.now() + WAIT_MS;
    const usable = this.all.filter(({ replayed }) => replayed !== undefined);
    while (usable.length > 0) {
      await Promise.race(usable.map(({ look }) => look()));
      const now = performance.now();
      const found = this.#find(required, now);
      if (found || now >= end) return found;
      await sleep(WAIT_LOOK_MS);
    }
    return undefined;
  }

  /** Looks where all servers are. */
  async #look(): Promise<void> {
    const at = performance.now();
    const primary = async () => {
      try {
        this.#age.add(at, await this.#findPosition('now'));
        this.#isPrimaryAway = false;
      } catch {
        this.#isPrimaryAway = true;
      }
    };
    await Promise.all([primary(), ...this.all.map(({ look }) => look())]);
  }
}

/** Samples that are retained: those of a minute, at intervals of LOOK_MS. */
const MAX_SAMPLES = 240;

interface Sample {
  readonly at: number;
  readonly position: WalPosition;
}

/** Where the primary's log was at which moment, from which the age of a replica follows. */
class ReplicaAge {
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
