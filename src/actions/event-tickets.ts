import type { Db } from '../db/db.js';
import { createTicket } from '../events/tickets.js';
import type { Action } from '../http/router.js';
import { notInBatch, secretReply, timeOf } from './not-in-batch.js';

/** Creates a ticket for one event stream of a client that cannot send credentials, like EventSource: 201, 403, 503. */
export function newEventTicket(db: Db): Action {
  return notInBatch('tickets', {
    run: async ({ principal, prefix }) => {
      const { ticket, expires } = await createTicket(db, principal);
      const href = `${prefix}/events?ticket=${ticket}`;
      return secretReply(201, {
        ticket,
        expires_at: timeOf(expires),
        _links: { events: { href, method: 'GET' } },
      });
    },
  });
}
