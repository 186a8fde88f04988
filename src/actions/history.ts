import { isDeepStrictEqual } from 'node:util';
import { EVENTS_SQL } from '../db/core-statements.js';
import type { Row } from '../db/db.js';
import { Problem } from '../errors/problem.js';
import type { Event } from '../events/event.js';
import { filterOf, showsActors } from '../events/event-filter.js';
import type { Feed } from '../events/feed.js';
import { timeOf } from '../events/outbox.js';
import { type ReadableStates, readableStates, WHOLE } from '../events/readable-events.js';
import { JSON_TYPE } from '../http/media-types.js';
import { NO_QUERY } from '../http/query-parameters.js';
import type { Request } from '../http/request.js';
import type { Action } from '../http/router.js';
import { type Json, type JsonObject, member } from '../json.js';
import { readInteger } from '../list/query-names.js';
import type { ScopedCollection } from '../policy/scoped-collection.js';
import { parseUuid } from '../uuid.js';
import { OWNED, writeOnlyNames } from '../validation/validation.js';
import { secretReply } from './secret-reply.js';

/** Events that one page examines: an index of events by record would cost every write more than a page gains. */
const MAX_EXAMINED = 10_000;
const [MAX_CHANGES, DEFAULT_CHANGES] = [100, 20];
/** Bytes of the documents around the changes of a page. */
const MAX_BYTES = 1_048_576;

/** A change of a record. */
export interface Change {
  readonly type: string;
  readonly version: number;
  /** RFC 3339. */
  readonly time: string;
  /** Who made it; null: unknown, or not for the caller. */
  readonly actor: string | null;
  /** The fields that it changed; null: the collection does not retain them, or the documents are too large. */
  readonly changes: readonly FieldChange[] | null;
}

/** The values of a field before and after a change; undefined: it had none. */
export interface FieldChange {
  readonly name: string;
  readonly before: Json | undefined;
  readonly after: Json | undefined;
}

/**
 * A page of the changes of a record, the newest first, for callers that may read it now: 200, and what the action `getting` responds
 * with in place of the record. With access rules, a change has the values that the caller may read before and after it.
 */
export function history(scoped: ScopedCollection, getting: Action, feed: Feed): Action {
  return {
    run: async (request) => {
      const found = await getting.run({ ...request, type: JSON_TYPE, query: NO_QUERY, headers: {} });
      if (found.status !== 200) return found;
      const given = request.query.parameters;
      const limit = readInteger('limit', given.get('limit'), DEFAULT_CHANGES, MAX_CHANGES);
      const after = given.get('after');
      const position = after === null ? Number.MAX_SAFE_INTEGER : await feed.positionOf(after);
      const { data, last } = await readChanges(scoped, request, feed, position, limit);
      const self = `${request.prefix}/${scoped.resource.name}/${parseUuid(request.params.id!)}/history?limit=${limit}`;
      const links = {
        self: after === null ? self : `${self}&after=${encodeURIComponent(after)}`,
        next: last === undefined ? null : `${self}&after=${encodeURIComponent(feed.cursorOf(last - 1))}`,
      };
      return { ...secretReply(200, { data, meta: { limit }, links }), isRead: true };
    },
  };
}

/** The newest changes of a record that the caller may read; none: it may not read the events. */
export async function newestChanges(
  scoped: ScopedCollection,
  request: Request,
  feed: Feed,
): Promise<readonly Change[]> {
  try {
    filterOf(request.principal, `${scoped.resource.name}.*`, feed.resources);
  } catch (error) {
    if (error instanceof Problem) return [];
    throw error;
  }
  return (await readChanges(scoped, request, feed, Number.MAX_SAFE_INTEGER, DEFAULT_CHANGES)).data;
}

/** The changes of a record up to a position, as far as the caller may read them; `last`: of what was read; undefined: that is all. */
async function readChanges(
  scoped: ScopedCollection,
  request: Request,
  feed: Feed,
  position: number,
  limit: number,
) {
  const { resource } = scoped;
  const id = parseUuid(request.params.id!)!;
  const found = await (request.run ?? feed.db.run)(EVENTS_SQL.history_page, [
    ...[id, `${resource.name}.`, position, MAX_EXAMINED, limit, MAX_BYTES],
  ]);
  const rows = found.filter(({ seq }) => seq !== null);
  const { access } = scoped.as(request);
  const hidden = new Set(writeOnlyNames(resource.schema));
  const events = rows.map((row) => eventOf(row, id));
  const isShown = showsActors(resource, request.principal);
  const states = access && (await readableStates(feed.db, resource, access, events));
  const data = rows.flatMap((row, at) => {
    const state = states ? states[at] : WHOLE;
    if (!state?.before && !state?.after) return [];
    const change = changeOf(row, hidden, state);
    return [states && !isShown ? { ...change, actor: null } : change];
  });
  const { first, is_last: isLast } = found[0]!;
  const last = rows.length === limit ? Number(rows.at(-1)!.seq) : Number(first);
  return { data, last: rows.length < limit && isLast === true ? undefined : last };
}

const eventOf = ({ seq, type, time, version, data, former }: Row, record: string): Event => ({
  ...{ seq: Number(seq), record, owner: null, actor: null, version: Number(version) },
  type: String(type),
  time: String(time),
  data: data as string | null,
  former: former as string | null,
});

function changeOf(row: Row, hidden: ReadonlySet<string>, states: ReadableStates): Change {
  const { type, version, time, actor, previous, is_whole: isWhole } = row;
  const isKnown = isWhole === true && (previous !== null || String(type).endsWith('.created'));
  return {
    type: String(type),
    version: Number(version),
    time: timeOf(time),
    actor: actor as string | null,
    changes: isKnown ? changedFields(row, hidden, states) : null,
  };
}

/** The fields that differ between two documents, as far as the states show them, without those in `hidden`. Null: there is no record. */
function changedFields({ previous, data }: Row, hidden: ReadonlySet<string>, states: ReadableStates) {
  const [before, after] = [previous, data].map((text) => JSON.parse((text ?? '{}') as string) as JsonObject);
  const names = new Set([...Object.keys(before!), ...Object.keys(after!)]);
  return [...names]
    .filter((name) => !OWNED.has(name) && !hidden.has(name))
    .map((name) => ({ name, before: member(before!, name), after: member(after!, name) }))
    .filter((change) => !isDeepStrictEqual(change.before, change.after))
    .flatMap((change) => {
      const [isBefore, isAfter] = [states.before, states.after].map(
        (state) => state !== undefined && (state.fields?.includes(change.name) ?? true),
      );
      if (!isBefore && !isAfter) return [];
      return [{ ...change, ...(!isBefore && { before: undefined }), ...(!isAfter && { after: undefined }) }];
    });
}
