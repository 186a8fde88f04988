import type { Row, Run } from '../db/db.js';
import { readStatements } from '../db/statements.js';
import type { Snapshot } from './commit-horizon.js';
import type { Event } from './event.js';
import type { Filter } from './filter.js';

/** Events after a place, and how far they reach. */
export interface Batch {
  readonly events: readonly Event[];
  /** The place to go on after. */
  readonly until: number;
  /** Events up to here are no longer kept: who was before it has missed some. */
  readonly floor: number;
}

export interface Span {
  /** Only events after this place; 0: from the start. */
  readonly after: number;
  /** Only up to this one: never beyond what `Tail.horizon` gives. */
  readonly horizon: number;
  readonly limit: number;
  /** Those to read; undefined: all. */
  readonly filter?: Filter | undefined;
}

const STATEMENTS = readStatements('events.sql');
const [SNAPSHOT, LAST, READ] = ['snapshot', 'last_number', 'read'].map((name) => STATEMENTS.get(name)!) as [
  string,
  string,
  string,
];

/** Events that one statement looks at, and bytes of documents after which it gives no further one. */
const LOOKED_AT = 5000;
const BYTES = 1_048_576;

/**
 * Events in the order of the feed: at most `limit`, and fewer when their documents come to a megabyte. None, with an
 * `until` that is further on, when those that were looked at are not asked for.
 */
export async function readEvents(run: Run, { after, horizon, limit, filter }: Span): Promise<Batch> {
  const rows = await run(READ, [
    after,
    horizon,
    LOOKED_AT,
    limit,
    BYTES,
    arrayOf(filter?.types ?? null),
    arrayOf(filter?.ownTypes ?? []),
    filter?.owner ?? null,
  ]);
  const { floor, until, matching } = rows[0]!;
  const events = rows.filter(({ seq }) => seq !== null).map(eventOf);
  const cut = events.length > 0 && (events.length === limit || events.length < Number(matching));
  return {
    events,
    // With none in between, the horizon is passed as well: it is final.
    until: cut ? events.at(-1)!.seq : Math.max(after, Number(until ?? horizon)),
    floor: Number(floor),
  };
}

/** The newest event there is, visible or not yet safe to read, and the transactions that decide it. */
export async function sightOf(run: Run): Promise<Snapshot> {
  const [row] = await run(SNAPSHOT, []);
  const { newest, floor, xmin, next } = row!;
  return {
    newest: Number(newest),
    floor: Number(floor),
    xmin: BigInt(xmin as string),
    next: BigInt(next as string),
  };
}

/** The last place that any event was ever given. */
export async function lastNumber(run: Run): Promise<number> {
  return Number((await run(LAST, []))[0]!.last);
}

function eventOf(row: Row): Event {
  const { seq, type, record, owner, time, version, data } = row;
  return {
    seq: Number(seq),
    type: type as string,
    record: record as string,
    owner: owner as string | null,
    // As PostgreSQL writes it in UTC: 2026-01-01 00:00:00.123456+00.
    time: `${(time as string).slice(0, -3).replace(' ', 'T')}Z`,
    version: version as number,
    data: data as string | null,
  };
}

/** Names of types have nothing that an array's text would have to quote. */
function arrayOf(types: readonly string[] | null): string | null {
  return types && `{${types.join(',')}}`;
}
