import type { Resource } from '../collection/resource.js';
import { EVENTS_SQL } from '../db/core-statements.js';
import { Problem } from '../errors/problem.js';
import type { Principal } from '../principal.js';
import type { Feed } from './feed.js';
import { type Filter, filterOf } from './filter.js';

const HISTORY = EVENTS_SQL.history;

/** An index of events by record would cost every write more than a page gains, so the newest events are examined. */
const MAX_EXAMINED = 10_000;
const MAX_CHANGES = 20;

/** A change of a record. */
export interface Change {
  /** The position before its event. */
  readonly cursor: string;
  readonly type: string;
  /** RFC 3339. */
  readonly time: string;
  readonly version: number;
}

/**
 * The newest changes of a record, as far as the caller may read its events; undefined: it may not. Changes before the
 * newest ten thousand events of the service are not found.
 */
export async function readHistory(
  feed: Feed,
  { name }: Resource,
  id: string,
  principal: Principal,
): Promise<Change[] | undefined> {
  const filter = permittedFilter(feed, name, principal);
  if (!filter) return undefined;
  const types = filter.types ?? [];
  const isOwn = types.length === 0;
  const rows = await feed.db.run(HISTORY, [
    id,
    `{${(isOwn ? filter.ownTypes : types).join(',')}}`,
    MAX_EXAMINED,
    MAX_CHANGES,
    isOwn ? filter.owner : null,
  ]);
  return rows.map(({ seq, time, version, type }) => ({
    cursor: feed.cursorOf(Number(seq) - 1),
    type: String(type),
    time: `${String(time).slice(0, -3).replace(' ', 'T')}Z`,
    version: Number(version),
  }));
}

function permittedFilter(feed: Feed, name: string, principal: Principal): Filter | undefined {
  try {
    return filterOf(principal, `${name}.*`, feed.resources);
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
}
