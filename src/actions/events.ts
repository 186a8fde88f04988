import { badRequest } from '../errors/request-errors.js';
import { envelopeOf } from '../events/cloudevents.js';
import { filterOf, withConditions } from '../events/event-filter.js';
import type { Feed } from '../events/feed.js';
import type { Batch } from '../events/outbox.js';
import type { Live, Reply } from '../http/reply.js';
import { preferredWait, type Request } from '../http/request.js';
import type { Action } from '../http/router.js';
import { isCondition, readInteger } from '../list/query-names.js';
import { readFilter } from '../list/read-filter.js';
import { named, readable, type ScopedCollection } from '../policy/scoped-collection.js';

const BATCH_TYPE = 'application/cloudevents-batch+json';
const STREAM_TYPE = 'text/event-stream';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;
/** Maximum seconds for which a request waits for events. */
const MAX_WAIT = 60;

/** A request for events. `rest` are its parameters except `after`, as links repeat them after `prefix`. */
type Query = Awaited<ReturnType<typeof readQuery>>;

/**
 * Events after a cursor: as JSON, with `Prefer: wait` as soon as there are any; or as an event stream.
 * 200, 400, 403, 406, 410, 429, 503.
 */
export function listEvents(feed: Feed, collections: readonly ScopedCollection[]): Action {
  return {
    identify: (query) => {
      const ticket = query.parameters.get('ticket');
      return ticket === null ? undefined : feed.tickets.redeem(ticket);
    },
    run: async (request) => {
      const requested = await readQuery(feed, collections, request);
      if (request.type !== STREAM_TYPE && requested.hasTicket)
        throw badRequest('A ticket is for event streams: Accept must prefer text/event-stream.');
      if (request.type === STREAM_TYPE) return follow(requested, request);
      const batch = await feed.read(requested.start, requested.filter, requested.limit);
      const wait = Math.min(preferredWait(request.headers.prefer), MAX_WAIT);
      const waits = wait > 0 && request.method === 'GET' && !request.run;
      const applied = waits ? ['Preference-Applied', `wait=${wait}`] : [];
      if (!waits || batch.events.length > 0) return replyOf(requested, batch, applied);
      const slot = await feed.admit(request.principal);
      const reply = async (disconnected: AbortSignal): Promise<Reply> => {
        try {
          const over = AbortSignal.any([disconnected, slot.invalid]);
          const found = await newsWithin(requested, batch, wait * 1000, over);
          return replyOf(requested, found, applied);
        } finally {
          slot.leave();
        }
      };
      return { status: 200, headers: [], content: { kind: 'pending', reply } };
    },
  };
}

async function readQuery(feed: Feed, collections: readonly ScopedCollection[], request: Request) {
  const { query, headers, principal, type, prefix, version } = request;
  const given = query.parameters;
  const types = given.has('types') ? given.getAll('types').join(',') : null;
  const permitted = filterOf(principal, types, feed.resources);
  const filter = [...given.keys()].some(isCondition)
    ? withConditions(permitted, feed.resources, ({ name }) =>
        // In the words of lists.
        readFilter(given, named(collections, name).as(request), readable(collections, request)),
      )
    : permitted;
  // A client that reconnects repeats its address, and sends its last position in Last-Event-ID.
  const last = type === STREAM_TYPE ? String(headers['last-event-id'] ?? '') : '';
  const text = last !== '' ? last : given.get('after');
  const start = await feed.start(text ?? undefined);
  const limit = readInteger('limit', given.get('limit'), DEFAULT_LIMIT, MAX_LIMIT);
  const repeated = [...given].filter(([name]) => name === 'types' || isCondition(name));
  const rest = [...repeated, ...(given.has('limit') ? [['limit', String(limit)] as const] : [])]
    .map(([name, value]) => `&${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .join('');
  return { feed, type, start, filter, limit, rest, prefix, version, hasTicket: given.has('ticket') };
}

/**
 * Reads again whenever there may be news, until there are events or the time is over. If `over` aborts before that, the
 * client has left or must not continue: nothing more is read.
 */
async function newsWithin(query: Query, seen: Batch, ms: number, over: AbortSignal): Promise<Batch> {
  const { feed, start, filter, limit } = query;
  const end = performance.now() + ms;
  let batch = seen;
  for (;;) {
    const rest = end - performance.now();
    if (batch.events.length > 0 || rest <= 0 || over.aborted || feed.streams.isClosed) return batch;
    await feed.news(batch.until, filter, rest, over);
    if (over.aborted) return batch;
    batch = await feed.read({ ...start, after: batch.until }, filter, limit);
  }
}

async function follow({ feed, start, filter }: Query, request: Request): Promise<Reply> {
  if (request.run) throw badRequest('An event stream cannot be part of a batch.');
  const headers = ['Content-Type', STREAM_TYPE, 'Cache-Control', 'no-store', 'X-Accel-Buffering', 'no'];
  const live = (write: Live['write']): Reply => ({ status: 200, headers, content: { kind: 'live', write } });
  if (request.method === 'HEAD') return live(() => undefined);
  feed.streams.requireLane(filter);
  const slot = await feed.admit(request.principal);
  const expiresAt = (request.principal.expiresAt ?? Number.POSITIVE_INFINITY) * 1000;
  return live((out) => feed.streams.open(out, { ...start, filter, expiresAt }, slot));
}

function replyOf(query: Query, { events, until }: Batch, more: readonly string[]): Reply {
  const { feed, type, start, limit, rest, prefix, version } = query;
  const cursor = feed.cursorOf(until);
  const next = `${prefix}/events?after=${cursor}${rest}`;
  const list = `[${events.map((event) => envelopeOf(event, feed)).join(',')}]`;
  const end = `"cursor":"${cursor}","more":${until < feed.follower.horizon()}}`;
  const links = {
    self: `${prefix}/events?after=${feed.cursorOf(start.after)}${rest}`,
    next,
    prev: null,
    first: `${prefix}/events${rest.replace('&', '?')}`,
  };
  const body =
    type === BATCH_TYPE
      ? list
      : version.lists === 'keyset'
        ? `{"data":${list},"meta":{"limit":${limit},${end},"links":${JSON.stringify(links)}}`
        : `{"data":${list},"meta":{${end},"links":{"next":${JSON.stringify(next)}}}`;
  const headers = ['Content-Type', type, 'Cache-Control', 'no-store', 'Events-Cursor', cursor];
  return { status: 200, headers: [...headers, 'Link', `<${next}>; rel="next"`, ...more], body };
}
