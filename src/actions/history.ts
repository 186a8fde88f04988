import { EVENTS_SQL } from '../db/core-statements.js';
import type { Db, Row } from '../db/db.js';
import type { Event } from '../events/event.js';
import { showsActors } from '../events/event-filter.js';
import type { Feed } from '../events/feed.js';
import { type ReadableStates, readableStates } from '../events/readable-events.js';
import { changedFields, type FieldChange, timeOf } from '../events/record-history.js';
import { JSON_TYPE } from '../http/media-types.js';
import { NO_QUERY } from '../http/query-parameters.js';
import type { Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import type { Action } from '../http/router.js';
import { readInteger } from '../list/query-names.js';
import type { ScopedCollection } from '../policy/scoped-collection.js';
import { parseUuid } from '../uuid.js';
import { writeOnlyNames } from '../validation/validation.js';

/** Events that one page examines: an index of events by record would cost every write more than a page gains. */
const MAX_EXAMINED = 10_000;
const [MAX_CHANGES, DEFAULT_CHANGES] = [100, 20];
/** Bytes of the documents around the changes of a page. */
const MAX_BYTES = 1_048_576;

/**
 * A page of the changes of a record, the newest first, for callers that may read it now: 200, and what the action `getting` responds
 * with in place of the record. With access rules, a change has the values that the caller may read before and after it.
 */
export function history(scoped: ScopedCollection, getting: Action, db: Db, feed: Feed): Action {
  return {
    ...(getting.authorize && { authorize: getting.authorize }),
    run: async (request) => {
      const shown = await getting.run({ ...request, type: JSON_TYPE, query: NO_QUERY, headers: {} });
      if (shown.status !== 200) return shown;
      return page(scoped, request, db, feed);
    },
  };
}

async function page(scoped: ScopedCollection, request: Request, db: Db, feed: Feed): Promise<Reply> {
  const { resource } = scoped;
  const given = request.query.parameters;
  const limit = readInteger('limit', given.get('limit'), DEFAULT_CHANGES, MAX_CHANGES);
  const after = given.get('after');
  const position = after === null ? Number.MAX_SAFE_INTEGER : await feed.positionOf(after);
  const id = parseUuid(request.params.id!)!;
  const found = await (request.run ?? db.run)(EVENTS_SQL.history_page, [
    ...[id, `${resource.name}.`, position, MAX_EXAMINED, limit, MAX_BYTES],
  ]);
  const rows = found.filter(({ seq }) => seq !== null);
  const { access } = scoped.as(request);
  const hidden = new Set(writeOnlyNames(resource.schema));
  const events = rows.map((row) => eventOf(row, id));
  const isShown = showsActors(resource, request.principal);
  const states = access && (await readableStates(db, resource, access, events));
  const data = rows.flatMap((row, at) => {
    const state = states?.[at];
    const change = changeOf(row, hidden);
    if (!states) return [change];
    return state?.before || state?.after
      ? [{ ...change, actor: isShown ? change.actor : null, changes: visible(change.changes, state) }]
      : [];
  });
  const { first, is_last: isLast } = found[0]!;
  const last = rows.length === limit ? Number(rows.at(-1)!.seq) : Number(first);
  const isEnd = rows.length < limit && isLast === true;
  const self = `${request.prefix}/${resource.name}/${id}/history?limit=${limit}`;
  const links = {
    self: after === null ? self : `${self}&after=${encodeURIComponent(after)}`,
    next: isEnd ? null : `${self}&after=${encodeURIComponent(feed.cursorOf(last - 1))}`,
  };
  const body = JSON.stringify({ data, meta: { limit }, links });
  return {
    status: 200,
    headers: ['Content-Type', JSON_TYPE, 'Cache-Control', 'no-store'],
    body,
    isRead: true,
  };
}

const eventOf = ({ seq, type, time, version, data, former }: Row, record: string): Event => ({
  ...{ seq: Number(seq), record, owner: null, actor: null, version: Number(version) },
  type: String(type),
  time: String(time),
  data: data as string | null,
  former: former as string | null,
});

function changeOf(row: Row, hidden: ReadonlySet<string>) {
  const { type, version, time, actor, data, previous, is_whole: isWhole } = row;
  const isKnown = isWhole === true && (previous !== null || String(type).endsWith('.created'));
  return {
    type: String(type),
    version: Number(version),
    time: timeOf(time),
    actor: actor as string | null,
    changes: isKnown ? changedFields(previous as string | null, data as string | null, hidden) : null,
  };
}

/** The changes of fields as far as a caller may read their values. */
function visible(
  changes: readonly FieldChange[] | null,
  { before, after }: ReadableStates,
): FieldChange[] | null {
  const isIn = (state: ReadableStates['before'], name: string) =>
    state !== undefined && (state.fields === undefined || state.fields.includes(name));
  return (
    changes?.flatMap(({ name, ...values }) => {
      const [former, later] = [isIn(before, name), isIn(after, name)];
      if (!former && !later) return [];
      return [{ name, before: former ? values.before : undefined, after: later ? values.after : undefined }];
    }) ?? null
  );
}
