import QuickLRU from 'quick-lru';
import type { Db } from '../../db/db.js';
import type { Log } from '../../telemetry/log.js';
import type { Principal } from '../principal.js';
import { type CredentialKind, type Found, findCredential } from './credentials.js';

/** How long a credential is cached: a revocation whose notification is lost takes effect after this time. */
const MAX_AGE_MS = 1000;
const MAX_CACHED = 10_000;

interface Dated<T> {
  /** When the query began, in milliseconds of performance.now(), which changes of the system clock do not move. */
  readonly at: number;
  readonly found: T;
}

/**
 * Looks up API keys and certificates. Caches them for a second while the connection for notifications of revocations is
 * open, and not at all otherwise. Concurrent lookups of one credential share a statement; unknown ones are not cached.
 */
export class CredentialCache {
  readonly #cached = new QuickLRU<string, Dated<Found>>({ maxSize: MAX_CACHED / 2 });
  /** Bounded by the queue of the database. */
  readonly #pending = new Map<string, Dated<Promise<Found | undefined>>>();
  #isListening = false;
  #hasWarned = false;
  readonly close: () => Promise<void>;

  constructor(
    readonly db: Db,
    readonly log: Log,
    readonly now: () => number = () => performance.now(),
  ) {
    this.close = db.listen('plinth_revoked', {
      onMessage: (hash) => this.forget(hash),
      onOpen: () => this.#onOpen(),
      onLost: (error) => this.#onLost(error),
    });
  }

  /** The principal of a SHA-256 in base64; undefined without a valid credential. Rejects while the database is away. */
  find(kind: CredentialKind, hash: string): Promise<Principal | undefined> | Principal | undefined {
    const cached = this.#fresh(this.#cached.get(hash));
    if (cached) return principalOf(kind, hash, cached);
    const pending = this.#fresh(this.#pending.get(hash)) ?? this.#query(hash);
    return pending.then((found) => principalOf(kind, hash, found));
  }

  /** Makes the next `find` query the database. */
  forget(hash: string): void {
    this.#cached.delete(hash);
    this.#pending.delete(hash);
  }

  #fresh<T>(entry: Dated<T> | undefined): T | undefined {
    return entry && this.now() - entry.at < MAX_AGE_MS ? entry.found : undefined;
  }

  #query(hash: string): Promise<Found | undefined> {
    const query = { at: this.now(), found: findCredential(this.db, hash) };
    this.#pending.set(hash, query);
    const store = (found: Found | undefined): void => {
      // After a revocation in the meantime, or a newer query, only the waiting callers get the result.
      if (this.#pending.get(hash) !== query) return;
      this.#pending.delete(hash);
      if (found && this.#isListening) this.#cached.set(hash, { at: query.at, found });
    };
    // The callers handle the error.
    query.found.then(store, () => store(undefined));
    return query.found;
  }

  #clear(): void {
    this.#cached.clear();
    this.#pending.clear();
  }

  #onOpen(): void {
    // Notifications may have been missed before.
    this.#clear();
    this.#isListening = true;
    if (this.#hasWarned) this.log.warn('revocations are notified again');
    this.#hasWarned = false;
  }

  #onLost(err: unknown): void {
    this.#clear();
    this.#isListening = false;
    if (!this.#hasWarned)
      this.log.warn({ err }, 'revocations are not notified: each credential is looked up for each request');
    this.#hasWarned = true;
  }
}

const principals = new WeakMap<Found, Principal>();

/** Undefined for an unknown or expired credential, and for one of the other kind. One object for each lookup. */
function principalOf(kind: CredentialKind, hash: string, found: Found | undefined): Principal | undefined {
  if (!found || found.kind !== kind) return undefined;
  const { subject, scopes, expires } = found;
  if (expires !== undefined && expires <= Date.now()) return undefined;
  const known = principals.get(found);
  if (known) return known;
  const principal: Principal = {
    subject,
    scopes,
    scheme: kind === 'key' ? 'api-key' : 'mtls',
    expiresAt: expires === undefined ? undefined : expires / 1000,
    credential: hash,
  };
  principals.set(found, principal);
  return principal;
}
