import { createCipheriv, createDecipheriv, createHmac, hash, randomBytes } from 'node:crypto';
import type { CredentialWatch } from '../auth/credentials/credential-watch.js';
import { type Principal, scopesOf } from '../auth/principal.js';
import { EVENTS_SQL } from '../db/core-statements.js';
import type { Db } from '../db/db.js';
import { invalidTicket, tooManyOwnTickets } from '../errors/caller-errors.js';
import { beyond } from '../errors/service-errors.js';
import { clientKey } from '../limits/rate-limit.js';

const LIFETIME_S = 30;
/** Unused tickets of all callers and processes. */
const MAX_TICKETS = 10_000;
/** Unused tickets of one caller. */
const MAX_OWN = 100;

/** A ticket that stands for its creator in one request for an event stream. */
export interface Ticket {
  readonly ticket: string;
  /** Milliseconds since 1970. */
  readonly expires: number;
}

interface StoredPrincipal extends Omit<Principal, 'scopes'> {
  readonly scopes: string[];
  /** The token of the creator, encrypted; undefined for credentials that can be checked without. */
  readonly token?: string;
}

/**
 * Creates and redeems tickets. The database stores the SHA-256 of a ticket, and the token of its creator encrypted with the
 * ticket, so that the revocation of that token concerns the stream, too.
 */
export class Tickets {
  constructor(
    readonly db: Db,
    readonly credentials: CredentialWatch,
  ) {}

  /** Throws 429 if the caller has too many unused tickets, 503 if all callers have. */
  async create(principal: Principal): Promise<Ticket> {
    const ticket = randomBytes(32).toString('base64url');
    const { scopes, scheme, subject } = principal;
    const token = this.credentials.tokenOf(principal);
    const stored = JSON.stringify({
      ...principal,
      scopes: [...scopes],
      ...(token === undefined ? {} : { token: encrypt(token, ticket) }),
    });
    // Without authentication, all callers have one subject.
    const caller = scheme === 'none' ? null : clientKey('principal', subject);
    const args = [hashOf(ticket), stored, LIFETIME_S, MAX_TICKETS, caller, MAX_OWN];
    const [row] = await this.db.run(EVENTS_SQL.create_ticket, args);
    if (row!.expires === null) throw Number(row!.own) >= MAX_OWN ? tooManyOwnTickets() : beyond('tickets');
    return { ticket, expires: Number(row!.expires) };
  }

  /**
   * The principal that created a ticket, which is used from now on. Throws 403, also if the credential of that principal is
   * no longer valid. Throws 503 if the credential cannot be checked; then the ticket stays unused.
   */
  async redeem(ticket: string): Promise<Principal> {
    const hash = hashOf(ticket);
    const [found] = await this.db.run(EVENTS_SQL.find_ticket, [hash]);
    if (!found) throw invalidTicket();
    const { token, ...stored } = JSON.parse(String(found.principal)) as StoredPrincipal;
    const principal = { ...stored, scopes: scopesOf(stored.scopes) };
    const current = await this.credentials.current(principal, token && decrypt(token, ticket));
    const [used] = await this.db.run(EVENTS_SQL.use_ticket, [hash]);
    if (!current || !used) throw invalidTicket();
    return current;
  }
}

const hashOf = (ticket: string) => hash('sha256', ticket, 'base64');

/** A ticket has 256 random bits and encrypts once, so that the nonce may be constant. */
const cipherOf = (ticket: string) => ({
  key: createHmac('sha256', ticket).update('the token of an event ticket').digest(),
  nonce: Buffer.alloc(12),
});

function encrypt(text: string, ticket: string): string {
  const { key, nonce } = cipherOf(ticket);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  const parts = [cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()];
  return Buffer.concat(parts).toString('base64');
}

function decrypt(text: string, ticket: string): string {
  const { key, nonce } = cipherOf(ticket);
  const bytes = Buffer.from(text, 'base64');
  const decipher = createDecipheriv('aes-256-gcm', key, nonce).setAuthTag(bytes.subarray(-16));
  return Buffer.concat([decipher.update(bytes.subarray(0, -16)), decipher.final()]).toString('utf8');
}
