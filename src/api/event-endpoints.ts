import { listEvents } from '../actions/events.js';
import { secretReply, timeOf } from '../actions/secret-reply.js';
import type { ScopeRequirement } from '../auth/principal.js';
import type { Feed } from '../events/feed.js';
import type { Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import type { ScopedCollection } from '../policy/scoped-collection.js';
import { json, TEXT } from './doc.js';
import { at, type Endpoint } from './endpoint.js';

/** The services that endpoints of the feed run with. */
export interface EventServices {
  /** Undefined with EVENTS=off. */
  readonly feed: Feed | undefined;
  readonly collections: readonly ScopedCollection[];
}

/** With `self` alone, changes of the caller's own records. */
const requires: ScopeRequirement = { scopes: ['events:read'], ownership: 'rules' };

/** The feed of changes. */
export const EVENTS: readonly Endpoint<EventServices>[] = [
  {
    ...at('GET', '/events', requires),
    homeLink: { name: 'events', position: 6 },
    doc: {
      id: 'listEvents',
      tag: 'events',
      summary: 'Events after a cursor, or a stream of events',
      success: {
        200: {
          description: 'Events, oldest first.',
          content: {
            'application/json': 'EventList',
            'application/cloudevents-batch+json': {
              type: 'array',
              items: { $ref: '#/components/schemas/Event' },
            },
            'text/event-stream': TEXT,
          },
          headers: ['Cache-Control', 'Events-Cursor', 'Link', 'Preference-Applied'],
        },
      },
      errors: [
        'INVALID_CURSOR',
        'INVALID_QUERY',
        'INVALID_TICKET',
        'CURSOR_GONE',
        'TOO_MANY_STREAMS',
        'QUERY_TIMEOUT',
      ],
      fields: ['Prefer wait', 'Last-Event-ID'],
      query: {
        after: { type: 'string', description: 'A cursor, or `now`.' },
        types: { type: 'string', description: 'Types, separated by commas: `books.*,authors.deleted`.' },
        filter: {
          type: 'object',
          description:
            'Conditions as in lists, if `types` are of one collection: `filter[price][gte]=10`. Only changes of records that match before or after the change.',
        },
        limit: { type: 'integer', minimum: 1, maximum: 1000, default: 100 },
        ticket: { type: 'string', description: 'Instead of a credential, for one event stream.' },
      },
    },
    open: ({ feed, collections }) => listEvents(feed!, collections),
  },
  {
    ...at('POST', '/events/tickets', requires),
    notInBatch: 'tickets',
    doc: {
      id: 'createEventTicket',
      tag: 'events',
      summary: 'Create a ticket for an event stream of a browser',
      success: { 201: json('The ticket, valid for 30 seconds and once.', 'Ticket', ['Cache-Control']) },
      errors: ['RATE_LIMITED'],
    },
    run: newEventTicket,
  },
];

/** Creates a ticket for one event stream of a client that cannot send credentials, like EventSource: 201, 403, 429, 503. */
async function newEventTicket({ feed }: EventServices, { principal, prefix }: Request): Promise<Reply> {
  const { ticket, expires } = await feed!.tickets.create(principal);
  const href = `${prefix}/events?ticket=${ticket}`;
  return secretReply(201, {
    ticket,
    expires_at: timeOf(expires),
    _links: { events: { href, method: 'GET' } },
  });
}
