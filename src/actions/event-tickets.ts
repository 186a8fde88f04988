import type { Tickets } from '../events/tickets.js';
import type { Action } from '../http/router.js';
import { notInBatch, secretReply, timeOf } from './secret-reply.js';

/** Creates a ticket for one event stream of a client that cannot send credentials, like EventSource: 201, 403, 429, 503. */
export function newEventTicket(tickets: Tickets): Action {
  return notInBatch('tickets', {
    run: async ({ principal, prefix }) => {
      const { ticket, expires } = await tickets.create(principal);
      const href = `${prefix}/events?ticket=${ticket}`;
      return secretReply(201, {
        ticket,
        expires_at: timeOf(expires),
        _links: { events: { href, method: 'GET' } },
      });
    },
  });
}
