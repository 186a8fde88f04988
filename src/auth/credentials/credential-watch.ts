import { AUTH_SQL } from '../../db/core-statements.js';
import type { Db, Row } from '../../db/db.js';
import { fill } from '../../db/statements.js';
import type { Log } from '../../telemetry/log.js';
import { parseUuid } from '../../uuid.js';
import { CredentialRejected, type Principal, scopesOf } from '../principal.js';
import type { Scheme } from '../scheme.js';

/** A principal, and what the database must contain for its credential to stay valid. */
interface Stored {
  readonly principal: Principal;
  /** The user without which the credential is invalid. */
  readonly userId: string | undefined;
}

interface Watched extends Stored {
  readonly onInvalid: () => void;
  /** The token by which its scheme finds the principal again. */
  readonly token: string | undefined;
  /** Milliseconds since 1970. */
  expiresAt: number;
  /** Set while a deleted user's stream still sends its last events. */
  ending: NodeJS.Timeout | undefined;
}

/** The current keys and certificates by their SHA-256 in base64, and users by id. */
type Current = ReadonlyMap<string, Row>;

const CREDENTIALS_PER_STATEMENT = 1000;
/** How long a deleted user's own stream continues, so that it sends the events of the deletion. */
const ENDING_MS = 500;
/** Tokens that are checked at a time. */
const MAX_RECHECKS = 8;

/** Watches the credentials of event streams. */
export class CredentialWatch {
  readonly #watched = new Set<Watched>();
  readonly #timer: NodeJS.Timeout;
  readonly #statement: string;

  /**
   * `checkMs`: between two checks, which find changes by any process. `callers`: the tables of further collections whose
   * records are callers, besides the one that people sign in with.
   */
  constructor(
    readonly db: Db,
    log: Log,
    readonly schemes: readonly Scheme[],
    checkMs: number,
    callers: readonly string[] = [],
  ) {
    const parts = callers.map((table) => fill(AUTH_SQL.current_callers, { table }));
    this.#statement = [AUTH_SQL.current_credentials, ...parts].join('\nunion all\n');
    const checkStored = oneAtATime(() => this.#checkStored(), log);
    const checkTokens = oneAtATime(() => this.#checkTokens(), log);
    this.#timer = setInterval(() => {
      if (this.#watched.size === 0) return;
      for (const entry of this.#watched) if (entry.expiresAt <= Date.now()) this.#invalidate(entry);
      checkStored();
      checkTokens();
    }, checkMs).unref();
  }

  /**
   * Calls `onInvalid` once, within two checks after the credential is revoked or changed or expires, or its user is
   * deleted. Returns the function that ends the watch. Rejects with 503 while the database is away.
   */
  async watch(principal: Principal, onInvalid: () => void): Promise<() => void> {
    if (principal.scheme === 'none') return () => undefined;
    const userId = await this.#userOf(principal);
    const expiresAt = expiryOf(principal.expiresAt);
    const token = this.tokenOf(principal);
    const entry: Watched = { principal, onInvalid, userId, token, expiresAt, ending: undefined };
    this.#watched.add(entry);
    return () => this.#unwatch(entry);
  }

  /** The token with which `current` finds a principal again; undefined: `current` finds that principal without a token. */
  tokenOf(principal: Principal): string | undefined {
    return this.#schemeOf(principal)?.secretOf?.(principal);
  }

  /**
   * The principal as its credential permits now; undefined: the credential is no longer valid. Rejects with 503 if the
   * database or the authorization server cannot confirm the credential.
   */
  async current(principal: Principal, token: string | undefined): Promise<Principal | undefined> {
    if (principal.scheme === 'none') return principal;
    try {
      if (token !== undefined) return await this.#schemeOf(principal)?.restore?.(token);
    } catch (error) {
      if (error instanceof CredentialRejected) return undefined;
      throw error;
    }
    const entry = { principal, userId: await this.#userOf(principal) };
    const current = await this.#read([entry]);
    return validUntil(entry, current) > Date.now() && !isUserDeleted(entry, current) ? principal : undefined;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #schemeOf({ scheme }: Principal): Scheme | undefined {
    return this.schemes.find(({ name }) => name === scheme);
  }

  /** The user who signed in, or whose records the scope `self` covers; undefined if the subject is not a user. */
  async #userOf(principal: Principal): Promise<string | undefined> {
    const { scheme, subject, scopes } = principal;
    if (scheme === 'basic') return subject;
    const userId = scopes.has('self') ? parseUuid(subject) : undefined;
    if (userId === undefined) return undefined;
    return (await this.#read([{ principal, userId }])).has(userId) ? userId : undefined;
  }

  /** In one statement. */
  async #read(entries: readonly Stored[]): Promise<Current> {
    const listOf = (ids: readonly (string | undefined)[]) =>
      JSON.stringify([...new Set(ids.filter((id) => id !== undefined))]);
    const rows = await this.db.run(this.#statement, [
      listOf(entries.map(hashOf)),
      listOf(entries.map(({ userId }) => userId)),
    ]);
    return new Map(rows.map((row) => [row.id as string, row]));
  }

  #unwatch(entry: Watched): boolean {
    clearTimeout(entry.ending);
    return this.#watched.delete(entry);
  }

  #invalidate(entry: Watched): void {
    if (this.#unwatch(entry)) entry.onInvalid();
  }

  async #checkStored(): Promise<void> {
    const stored = [...this.#watched].filter((entry) => (hashOf(entry) ?? entry.userId) !== undefined);
    for (let from = 0; from < stored.length; from += CREDENTIALS_PER_STATEMENT) {
      const entries = stored.slice(from, from + CREDENTIALS_PER_STATEMENT);
      const current = await this.#read(entries);
      for (const entry of entries) {
        entry.expiresAt = Math.min(entry.expiresAt, validUntil(entry, current));
        if (entry.expiresAt <= Date.now()) this.#invalidate(entry);
        else if (this.#watched.has(entry) && isUserDeleted(entry, current))
          entry.ending ??= setTimeout(() => this.#invalidate(entry), ENDING_MS).unref();
      }
    }
  }

  async #checkTokens(): Promise<void> {
    const due = [...this.#watched].values();
    const worker = async (): Promise<void> => {
      for (const entry of due) await this.#checkToken(entry);
    };
    await Promise.all(Array.from({ length: MAX_RECHECKS }, worker));
  }

  /** A token that cannot be verified now stays valid until it can; its scheme has logged the reason. */
  async #checkToken(entry: Watched): Promise<void> {
    const { principal, token } = entry;
    if (token === undefined) return;
    try {
      const now = await this.current(principal, token);
      if (now && permitsTheSame(principal, now.subject, now.scopes))
        entry.expiresAt = Math.min(entry.expiresAt, expiryOf(now.expiresAt));
      else this.#invalidate(entry);
    } catch {}
  }
}

function isUserDeleted({ userId }: Stored, current: Current): boolean {
  return userId !== undefined && !current.has(userId);
}

/**
 * When the current key, certificate or password expires, in milliseconds since 1970; 0 if it was revoked or changed.
 */
function validUntil(entry: Stored, current: Current): number {
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

function permitsTheSame(
  { subject, scopes }: Principal,
  currentSubject: unknown,
  currentScopes: ReadonlySet<string>,
): boolean {
  const hasAll = () => [...scopes].every((scope) => currentScopes.has(scope));
  return subject === currentSubject && scopes.size === currentScopes.size && hasAll();
}

/** A principal's expiry in milliseconds since 1970; Infinity: never. */
const expiryOf = (expiresAt = Number.POSITIVE_INFINITY): number => expiresAt * 1000;

/** The SHA-256 of an API key or a certificate; undefined for other credentials. */
const hashOf = ({ principal: { scheme, credential } }: Stored): string | undefined =>
  scheme === 'basic' ? undefined : credential;

/** Skips a run while the last one is in progress. Of consecutive failures, only the first is logged. */
function oneAtATime(work: () => Promise<void>, log: Log): () => void {
  let busy = false;
  let failing = false;
  return async () => {
    if (busy) return;
    busy = true;
    try {
      await work();
      failing = false;
    } catch (err) {
      if (!failing) log.warn({ err }, 'the credentials of event streams cannot be checked');
      failing = true;
    } finally {
      busy = false;
    }
  };
}
