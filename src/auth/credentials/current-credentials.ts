import { AUTH_SQL } from '../../db/core-statements.js';
import type { Db, Row } from '../../db/db.js';
import { fill } from '../../db/statements.js';
import { parseUuid } from '../../uuid.js';
import { type Principal, scopesOf } from '../principal.js';

/** A principal, and what the database must contain for its credential to stay valid. */
export interface Stored {
  readonly principal: Principal;
  /** The user without which the credential is invalid. */
  readonly userId: string | undefined;
}

/** The current keys and certificates by their SHA-256 in base64, and users by id. */
type Current = ReadonlyMap<string, Row>;

/** Reads what principals depend on. */
export class CurrentCredentials {
  readonly #statement: string;

  /** `callers`: the tables of further collections whose records are callers, besides the one that people sign in with. */
  constructor(
    readonly db: Db,
    callers: readonly string[],
  ) {
    const parts = callers.map((table) => fill(AUTH_SQL.current_callers, { table }));
    this.#statement = [AUTH_SQL.current_credentials, ...parts].join('\nunion all\n');
  }

  /** In one statement. */
  async read(entries: readonly Stored[]): Promise<Current> {
    const listOf = (ids: readonly (string | undefined)[]) =>
      JSON.stringify([...new Set(ids.filter((id) => id !== undefined))]);
    const rows = await this.db.run(this.#statement, [
      listOf(entries.map(hashOf)),
      listOf(entries.map(({ userId }) => userId)),
    ]);
    return new Map(rows.map((row) => [row.id as string, row]));
  }

  /** The user who signed in, or whose records the scope `self` covers; undefined if the subject is not a user. */
  async findUser(principal: Principal): Promise<string | undefined> {
    const { scheme, subject, scopes } = principal;
    if (scheme === 'basic') return subject;
    const userId = scopes.has('self') ? parseUuid(subject) : undefined;
    if (userId === undefined) return undefined;
    return (await this.read([{ principal, userId }])).has(userId) ? userId : undefined;
  }
}

export function isStored(entry: Stored): boolean {
  return hashOf(entry) !== undefined || entry.userId !== undefined;
}

export function isUserDeleted({ userId }: Stored, current: Current): boolean {
  return userId !== undefined && !current.has(userId);
}

/**
 * When the current key, certificate or password expires, in milliseconds since 1970; 0 if it was revoked or changed.
 */
export function validUntil(entry: Stored, current: Current): number {
  const { principal, userId } = entry;
  const until = expiryOf(principal.expiresAt);
  if (principal.scheme === 'basic') {
    const user = current.get(userId!);
    return !user || user.credential === principal.credential ? until : 0;
  }
  const hash = hashOf(entry);
  if (hash === undefined) return until;
  const row = current.get(hash);
  if (!row || !permitsTheSame(principal, row.subject, scopesOf(row.scopes))) return 0;
  return typeof row.expires === 'number' ? Math.min(row.expires, until) : until;
}

export function permitsTheSame(
  { subject, scopes }: Principal,
  currentSubject: unknown,
  currentScopes: ReadonlySet<string>,
): boolean {
  const hasAll = () => [...scopes].every((scope) => currentScopes.has(scope));
  return subject === currentSubject && scopes.size === currentScopes.size && hasAll();
}

/** A principal's expiry in milliseconds since 1970; Infinity: never. */
export function expiryOf(expiresAt: number | undefined): number {
  return expiresAt === undefined ? Number.POSITIVE_INFINITY : expiresAt * 1000;
}

/** The SHA-256 of an API key or a certificate; undefined for other credentials. */
function hashOf({ principal: { scheme, credential } }: Stored): string | undefined {
  return scheme === 'basic' ? undefined : credential;
}
