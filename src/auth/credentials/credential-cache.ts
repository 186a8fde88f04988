import { isDeepStrictEqual } from 'node:util';
import QuickLRU from 'quick-lru';
import { AUTH_SQL } from '../../db/core-statements.js';
import type { Db } from '../../db/db.js';
import { type Principal, scopesOf } from '../principal.js';

/** How long a credential is cached: in other processes, a revocation takes effect after this time at the latest. */
const MAX_AGE_MS = 1000;
const MAX_CACHED = 10_000;
/** Credentials in one statement besides the one that a request waits for. */
const MAX_DUE = 256;

type CredentialKind = 'key' | 'certificate';

/** A stored credential, and the caller that it identifies. */
interface Found {
  readonly kind: CredentialKind;
  readonly principal: Principal;
}

interface Lookup {
  /** When the query began, in milliseconds of performance.now(), which changes of the system clock do not move. */
  readonly at: number;
  readonly found: Promise<Found | undefined>;
  /** The credential as it was last found. It is one object until it changes, so that what is cached for its principal remains. */
  last: Found | undefined;
}

/**
 * Looks up API keys and certificates, and caches them for a second. Concurrent lookups of one credential share a statement, and one
 * that was in use shortly before is looked up together with others. Unknown credentials are not cached.
 */
export class CredentialCache {
  readonly #lookups = new QuickLRU<string, Lookup>({ maxSize: MAX_CACHED / 2 });
  /** Credentials that were in use when more than half of their time was over. */
  #due = new Map<string, Lookup>();

  constructor(
    readonly db: Db,
    readonly now: () => number = () => performance.now(),
  ) {}

  /** The principal of a SHA-256 in base64; undefined without a valid credential. Rejects while the database is away. */
  async find(kind: CredentialKind, hash: string): Promise<Principal | undefined> {
    const lookup = this.#lookups.get(hash);
    const age = lookup ? this.now() - lookup.at : Number.POSITIVE_INFINITY;
    if (!lookup || age >= MAX_AGE_MS) return valid(kind, await this.#query(hash));
    if (age >= MAX_AGE_MS / 2 && this.#due.size < MAX_DUE) this.#due.set(hash, lookup);
    return valid(kind, await lookup.found);
  }

  /** Makes the next `find` query the database. */
  forget(hash: string): void {
    this.#lookups.delete(hash);
  }

  #query(hash: string): Promise<Found | undefined> {
    const at = this.now();
    const due = this.#due;
    this.#due = new Map();
    due.delete(hash);
    const rows = findCredentials(this.db, [hash, ...due.keys()]);
    const last = this.#lookups.get(hash)?.last;
    const lookup: Lookup = { at, last, found: rows.then((all) => unchanged(last, all.get(hash))) };
    this.#lookups.set(hash, lookup);
    const end = (found?: Found) => {
      lookup.last = found;
      if (!found && this.#lookups.get(hash) === lookup) this.#lookups.delete(hash);
    };
    // The callers handle the error.
    lookup.found.then(end, () => end());
    rows.then(
      (all) => this.#renew(due, all, at),
      () => undefined,
    );
    return lookup.found;
  }

  /** Caches the further credentials that a statement has found. */
  #renew(due: ReadonlyMap<string, Lookup>, rows: ReadonlyMap<string, Found>, at: number): void {
    for (const [hash, before] of due) {
      // One that was forgotten or looked up meanwhile may have changed since.
      if (this.#lookups.get(hash) !== before) continue;
      const last = unchanged(before.last, rows.get(hash));
      if (last) this.#lookups.set(hash, { at, found: Promise.resolve(last), last });
      else this.#lookups.delete(hash);
    }
  }
}

/** Undefined for an unknown or expired credential, and for one of the other kind. */
function valid(kind: CredentialKind, known: Found | undefined): Principal | undefined {
  if (known?.kind !== kind) return undefined;
  const { expiresAt = Number.POSITIVE_INFINITY } = known.principal;
  return expiresAt * 1000 > Date.now() ? known.principal : undefined;
}

/** The object from before if the credential has not changed: what is cached for a principal remains. */
const unchanged = (before: Found | undefined, now: Found | undefined): Found | undefined =>
  isDeepStrictEqual(before, now) ? before : now;

/** The credentials with some hashes. Records their use, at most once a minute. */
async function findCredentials(db: Db, hashes: readonly string[]): Promise<ReadonlyMap<string, Found>> {
  const rows = await db.run(AUTH_SQL.find_credentials, [JSON.stringify(hashes)]);
  return new Map(
    rows.map(({ hash, kind, subject, scopes, expires }) => {
      const principal: Principal = {
        subject: String(subject),
        scopes: scopesOf(scopes),
        scheme: kind === 'key' ? 'api-key' : 'mtls',
        expiresAt: typeof expires === 'number' ? expires / 1000 : undefined,
        credential: String(hash),
      };
      return [String(hash), { kind: kind as CredentialKind, principal }];
    }),
  );
}
