import type { Db, Row } from '../../db/db.js';
import { readStatements } from '../../db/statements.js';
import { type Principal, scopesOf } from '../../principal.js';
import { parseUuid } from '../../uuid.js';

/** What the database has to contain for a principal's credential to be valid. Both undefined: nothing. */
export interface Stored {
  readonly principal: Principal;
  /** The user without whom the credential is not valid. */
  readonly userId: string | undefined;
}

/** Keys and certificates by their SHA-256 in base64, and users by their ids, as they are now. */
export type Current = ReadonlyMap<string, Row>;

const CURRENT = readStatements('auth.sql').get('current_credentials')!;

/** Reads what these depend on, in one statement. */
export async function readCurrent(db: Db, some: readonly Stored[]): Promise<Current> {
  const listOf = (ids: readonly (string | undefined)[]) =>
    JSON.stringify([...new Set(ids.filter((id) => id !== undefined))]);
  const rows = await db.run(CURRENT, [listOf(some.map(hashOf)), listOf(some.map(({ userId }) => userId))]);
  return new Map(rows.map((row) => [row.id as string, row]));
}

export function isStored(entry: Stored): boolean {
  return hashOf(entry) !== undefined || entry.userId !== undefined;
}

/** A user who signed in, or whose records `self` is for. A subject that never was a user cannot be deleted. */
export async function findUser(db: Db, principal: Principal): Promise<string | undefined> {
  const { scheme, subject, scopes } = principal;
  if (scheme === 'basic') return subject;
  const userId = scopes.has('self') ? parseUuid(subject) : undefined;
  if (userId === undefined) return undefined;
  return (await readCurrent(db, [{ principal, userId }])).has(userId) ? userId : undefined;
}

export function isUserDeleted({ userId }: Stored, current: Current): boolean {
  return userId !== undefined && !current.has(userId);
}

/**
 * Until when a key, a certificate or a password is valid, as it is now, in milliseconds since 1970; 0: it was revoked
 * or changed.
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
  current: unknown,
  currentScopes: ReadonlySet<string>,
): boolean {
  const hasAll = () => [...scopes].every((scope) => currentScopes.has(scope));
  return subject === current && scopes.size === currentScopes.size && hasAll();
}

/** A principal's expiry in milliseconds since 1970; Infinity: never. */
export function expiryOf(expiresAt: number | undefined): number {
  return expiresAt === undefined ? Number.POSITIVE_INFINITY : expiresAt * 1000;
}

/** Of an API key or a certificate. */
function hashOf({ principal: { scheme, credential } }: Stored): string | undefined {
  return scheme === 'basic' ? undefined : credential;
}
