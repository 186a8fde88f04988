import { isDeepStrictEqual } from 'node:util';
import type { Principal } from '../auth/principal.js';
import type { Resource } from '../collection/resource.js';
import { EVENTS_SQL } from '../db/core-statements.js';
import { Problem } from '../errors/problem.js';
import { type Json, type JsonObject, member } from '../json.js';
import { writeOnlyNames } from '../validation/validation.js';
import { type Filter, filterOf } from './event-filter.js';
import type { Feed } from './feed.js';

/** An index of events by record would cost every write more than a page gains, so the newest events are examined. */
const MAX_EXAMINED = 10_000;
const MAX_CHANGES = 20;
/** Bytes of the documents around the changes. */
const MAX_BYTES = 1_048_576;

/** A change of a record. */
export interface Change {
  /** The position before its event; undefined: that has expired. */
  readonly cursor: string | undefined;
  readonly type: string;
  /** RFC 3339. */
  readonly time: string;
  readonly version: number;
  /** Who made it; undefined: unknown. */
  readonly actor: string | undefined;
  /** The fields that it changed; undefined: the collection does not retain them, or the documents are too large. */
  readonly fields: readonly FieldChange[] | undefined;
}

/** The values of a field before and after a change; undefined: it had none. */
export interface FieldChange {
  readonly name: string;
  readonly before: Json | undefined;
  readonly after: Json | undefined;
}

/** Members that every write changes, or none does. */
const OWN: ReadonlySet<string> = new Set(['id', 'created_at', 'updated_at', '_version']);

/**
 * The newest changes of a record, as far as the caller may read its events; undefined: it may not. Changes before the
 * newest ten thousand events of the service are not found.
 */
export async function readHistory(
  feed: Feed,
  { name, schema }: Resource,
  id: string,
  principal: Principal,
): Promise<Change[] | undefined> {
  const filter = permittedFilter(feed, name, principal);
  if (!filter) return undefined;
  const isOwn = filter.types.length === 0;
  const found = await feed.db.run(EVENTS_SQL.history_page, [
    ...[id, `${name}.`, Number.MAX_SAFE_INTEGER, MAX_EXAMINED, MAX_CHANGES, MAX_BYTES],
  ]);
  const rows = found.filter(({ seq, owner }) => seq !== null && (!isOwn || owner === filter.owner));
  const hidden = new Set(writeOnlyNames(schema));
  // A change may be about fields, or a state of the record, that access rules do not show.
  const hasRules = filter.policies.has(name);
  const hidesActors = filter.policies.get(name)?.showsActors === false;
  return rows.map(({ seq, time, version, type, actor, data, previous, is_expired: isExpired }) => ({
    cursor: isExpired === true ? undefined : feed.cursorOf(Number(seq) - 1),
    type: String(type),
    time: timeOf(time),
    version: Number(version),
    actor: actor === null || hidesActors ? undefined : String(actor),
    fields:
      previous === null || hasRules
        ? undefined
        : changedFields(String(previous), data as string | null, hidden),
  }));
}

/** A time of PostgreSQL in RFC 3339. */
export const timeOf = (time: unknown): string => `${String(time).slice(0, -3).replace(' ', 'T')}Z`;

/** The fields that differ between two documents, without those in `hidden`. Null: there is no record. */
export function changedFields(
  previous: string | null,
  data: string | null,
  hidden: ReadonlySet<string>,
): FieldChange[] {
  const before = (previous === null ? {} : JSON.parse(previous)) as JsonObject;
  const after = (data === null ? {} : JSON.parse(data)) as JsonObject;
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names]
    .filter((name) => !OWN.has(name) && !hidden.has(name))
    .map((name) => ({ name, before: member(before, name), after: member(after, name) }))
    .filter((change) => !isDeepStrictEqual(change.before, change.after));
}

function permittedFilter(feed: Feed, name: string, principal: Principal): Filter | undefined {
  try {
    return filterOf(principal, `${name}.*`, feed.resources);
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
}
