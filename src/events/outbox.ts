import { EVENTS_SQL } from '../db/core-statements.js';
import type { Row, Run } from '../db/db.js';
import { arrayLiteral } from '../db/statements.js';
import type { Snapshot } from './commit-horizon.js';
import type { Event } from './event.js';
import type { Filter } from './event-filter.js';

/** Events after a position. */
export interface Batch {
  readonly events: readonly Event[];
  /** The position after which to continue. */
  readonly until: number;
  /** Events up to here have expired: a reader before it has missed some. */
  readonly floor: number;
}

export interface Span {
  /** Only events after this position; 0: from the start. */
  readonly after: number;
  /** Only up to this one, never beyond `FeedFollower.horizon`. */
  readonly horizon: number;
  readonly limit: number;
  /** Undefined: all events. */
  readonly filter?: Filter | undefined;
}

/** Maximum events that one statement examines, and bytes of documents after which it returns no further event. */
const MAX_EXAMINED = 5000;
const MAX_BYTES = 1_048_576;

/**
 * Events in the order of the feed: at most `limit`, and fewer if their documents exceed a megabyte. None, with a later
 * `until`, if none of those examined matches the filter.
 */
export async function readEvents(run: Run, { after, horizon, limit, filter }: Span): Promise<Batch> {
  const rows = await run(EVENTS_SQL.read, [
    after,
    horizon,
    MAX_EXAMINED,
    limit,
    MAX_BYTES,
    filter ? arrayLiteral(filter.types) : null,
    arrayLiteral(filter?.ownTypes ?? []),
    filter?.owner ?? null,
  ]);
  const { floor, until, matching } = rows[0]!;
  const events = rows.filter(({ seq }) => seq !== null).map(eventOf);
  const cut = events.length > 0 && (events.length === limit || events.length < Number(matching));
  return {
    events,
    // Without further events, the horizon itself is passed: it is final.
    until: cut ? events.at(-1)!.seq : Math.max(after, Number(floor), Number(until ?? horizon)),
    floor: Number(floor),
  };
}

/**
 * The newest visible event, final or not, and the transactions that decide which events are final. Begins an epoch if the
 * database has another history and all sessions were opened before its server was promoted.
 */
export async function readSnapshot(run: Run): Promise<Snapshot> {
  let [row] = await run(EVENTS_SQL.snapshot, []);
  if (row!.is_noted !== true) {
    await run('select note_feed_epoch()', []);
    [row] = await run(EVENTS_SQL.snapshot, []);
  }
  const { newest, floor, xmin, next, epoch, written } = row!;
  return {
    newest: Number(newest),
    floor: Number(floor),
    xmin: BigInt(xmin as string),
    next: BigInt(next as string),
    epoch: Number(epoch),
    written: written as number,
  };
}

/** The last number that any event was given. */
export async function lastNumber(run: Run): Promise<number> {
  return Number((await run(EVENTS_SQL.last_number, []))[0]!.last);
}

function eventOf(row: Row): Event {
  const { seq, type, record, owner, actor, time, version, data, former } = row;
  return {
    seq: Number(seq),
    type: type as string,
    record: record as string,
    owner: owner as string | null,
    actor: actor as string | null,
    time: timeOf(time),
    version: version as number,
    data: data as string | null,
    former: former as string | null,
  };
}

/** A time in RFC 3339, from the text that PostgreSQL has for one in UTC: 2026-01-01 00:00:00.123456+00. */
export const timeOf = (time: unknown): string => `${String(time).slice(0, -3).replace(' ', 'T')}Z`;
