import type { Db } from '../../db/db.js';
import type { Log } from '../../telemetry/log.js';
import { VERSION_CALLS_SQL } from './version-call-statements.js';

/** Who has called a version, with the number of calls on each day, the newest first. */
export interface Caller {
  readonly version: string;
  /** Undefined: all callers beyond the number that a process remembers. */
  readonly principal: string | undefined;
  readonly address: string;
  /** Milliseconds since 1970. */
  readonly calledAt: number;
  readonly days: readonly { readonly day: string; readonly calls: number }[];
}

/** The calls of one principal on one day that are not yet in the database. */
interface Unsaved {
  readonly version: string;
  readonly principal: string;
  readonly day: number;
  calls: number;
  address: string;
  calledAt: number;
}

/** Principals that a process remembers at a time. The calls of others are counted without a name. */
const MAX_PRINCIPALS = 1000;
/** Characters of a subject that are stored. */
const MAX_SUBJECT = 200;
const OTHERS = '';
const DAY_MS = 86_400_000;

/**
 * Counts the calls of versions by principal and day. Counting only changes memory; `save` adds the counts of this process
 * to those in the database, which are of all processes.
 */
export class VersionCalls {
  readonly #counted = new Map<string, Unsaved>();
  #day = 0;
  /** Calls of earlier days that are still to be saved. */
  #left = 0;

  constructor(
    readonly db: Db,
    readonly log: Log,
    readonly now: () => number = Date.now,
  ) {}

  count(version: string, subject: string, address: string): void {
    const calledAt = this.now();
    const day = Math.floor(calledAt / DAY_MS);
    if (day !== this.#day) this.#begin(day);
    const counted = this.#find(version, day, subject) ?? this.#find(version, day, OTHERS)!;
    counted.calls++;
    counted.address = address;
    counted.calledAt = calledAt;
  }

  #begin(day: number): void {
    this.#day = day;
    this.#forgetBefore(day);
    this.#left = Math.min(this.#counted.size, MAX_PRINCIPALS);
  }

  /** Undefined: too many principals are remembered. */
  #find(version: string, day: number, subject: string): Unsaved | undefined {
    const key = `${day} ${version} ${subject}`;
    const known = this.#counted.get(key);
    if (known) return known;
    if (subject !== OTHERS && this.#counted.size >= MAX_PRINCIPALS + this.#left) return undefined;
    const principal = subject.slice(0, MAX_SUBJECT).toWellFormed().replaceAll('\0', '\ufffd');
    const added = { version, principal, day, calls: 0, address: '', calledAt: 0 };
    this.#counted.set(key, added);
    return added;
  }

  /** Adds what was counted to the database. If that fails, the counts remain for the next time. */
  async save(): Promise<void> {
    const today = Math.floor(this.now() / DAY_MS);
    const changed = [...this.#counted.values()].filter(({ calls }) => calls > 0);
    if (changed.length === 0) return this.#forgetBefore(today);
    const saved = changed.map((each) => ({ each, calls: each.calls }));
    for (const { each } of saved) each.calls = 0;
    try {
      await this.db.run(VERSION_CALLS_SQL.add, [JSON.stringify(saved.map(rowOf))]);
    } catch (error) {
      for (const { each, calls } of saved) each.calls += calls;
      throw error;
    }
    this.#forgetBefore(today);
  }

  /** Saves what was counted at last. The log says if that fails. */
  async close(): Promise<void> {
    await this.save().catch((err: unknown) => this.log.warn({ err }, 'calls of versions were not saved'));
  }

  #forgetBefore(today: number): void {
    for (const [key, { day, calls }] of this.#counted)
      if (day < today && calls === 0) this.#counted.delete(key);
  }

  /** The callers after one of them, by version and principal, at most `limit`. Includes all calls of this process. */
  async list(after: readonly [version: string, principal: string], limit: number): Promise<Caller[]> {
    await this.save();
    const rows = await this.db.run(VERSION_CALLS_SQL.list, [...after, limit]);
    return rows.map((row) => ({
      version: String(row.version),
      principal: row.principal === OTHERS ? undefined : String(row.principal),
      address: String(row.address),
      calledAt: Number(row.called_ms),
      days: JSON.parse(String(row.days)) as Caller['days'],
    }));
  }
}

const rowOf = ({ each, calls }: { each: Unsaved; calls: number }) => ({
  version: each.version,
  principal: each.principal,
  day: new Date(each.day * DAY_MS).toISOString().slice(0, 10),
  calls,
  address: each.address,
  called_at: new Date(each.calledAt).toISOString(),
});
