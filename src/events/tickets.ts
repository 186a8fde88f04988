import { hash, randomBytes } from 'node:crypto';
import type { Db } from '../db/db.js';
import { readStatements } from '../db/statements.js';
import { invalidTicket, tooManyTickets } from '../errors/credential-errors.js';
import { type Principal, scopesOf } from '../principal.js';

const SQL = readStatements('events.sql');
const LIFETIME_S = 30;
/** Tickets of all processes that are neither used nor deleted. */
const MAX_TICKETS = 10_000;

/** A ticket that stands for its creator in one request for an event stream. */
export interface Ticket {
  readonly ticket: string;
  /** Milliseconds since 1970. */
  readonly expires: number;
}

/** Creates a ticket, of which the database stores only the SHA-256. Throws 503 if there are too many. */
export async function createTicket(db: Db, { scopes, ...principal }: Principal): Promise<Ticket> {
  const ticket = randomBytes(32).toString('base64url');
  const stored = JSON.stringify({ ...principal, scopes: [...scopes] });
  const [row] = await db.run(SQL.get('create_ticket')!, [hashOf(ticket), stored, LIFETIME_S, MAX_TICKETS]);
  if (!row) throw tooManyTickets();
  return { ticket, expires: Number(row.expires) };
}

/** The principal that created a ticket, which is used from now on. Throws 403. */
export async function redeemTicket(db: Db, ticket: string): Promise<Principal> {
  const [row] = await db.run(SQL.get('redeem_ticket')!, [hashOf(ticket)]);
  if (row?.valid !== true) throw invalidTicket();
  const stored = JSON.parse(String(row.principal)) as Omit<Principal, 'scopes'> & { scopes: string[] };
  return { ...stored, scopes: scopesOf(stored.scopes) };
}

const hashOf = (ticket: string) => hash('sha256', ticket, 'base64');
