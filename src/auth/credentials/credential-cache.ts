import QuickLRU from 'quick-lru';
import { AUTH_SQL } from '../../db/core-statements.js';
import type { Db } from '../../db/db.js';
import { type Principal, scopesOf } from '../principal.js';

/** How long a credential is cached: in other processes, a revocation takes effect after this time at the latest. */
const MAX_AGE_MS = 1000;
const MAX_CACHED = 10_000;

type CredentialKind = 'key' | 'certificate';

/** A stored credential, and the caller that it identifies. */
interface Found {
  readonly kind: CredentialKind;
  readonly principal: Principal;
}

interface Lookup {
  /** When the query began, in milliseconds of performance.now(), which changes of the system clock do not move. */
  readonly at: number;
  /** One object for each lookup. */
  readonly found: Promise<Found | undefined>;
}

/**
 * Looks up API keys and certificates, and caches them for a second. Concurrent lookups of one credential share a statement;
 * unknown ones are not cached.
 */
export class CredentialCache {
  readonly #lookups = new QuickLRU<string, Lookup>({ maxSize: MAX_CACHED / 2 });

  constructor(
    readonly db: Db,
    readonly now: () => number = () => performance.now(),
  ) {}

  /** The principal of a SHA-256 in base64; undefined without a valid credential. Rejects while the database is away. */
  async find(kind: CredentialKind, hash: string): Promise<Principal | undefined> {
    const lookup = this.#lookups.get(hash);
    const isFresh = lookup !== undefined && this.now() - lookup.at < MAX_AGE_MS;
    return valid(kind, await (isFresh ? lookup.found : this.#query(hash)));
  }

  /** Makes the next `find` query the database. */
  forget(hash: string): void {
    this.#lookups.delete(hash);
  }

  #query(hash: string): Promise<Found | undefined> {
    const found = findCredential(this.db, hash);
    const lookup: Lookup = { at: this.now(), found };
    this.#lookups.set(hash, lookup);
    const forget = () => this.#lookups.get(hash) === lookup && this.#lookups.delete(hash);
    // The callers handle the error.
    found.then((known) => known ?? forget(), forget);
    return found;
  }
}

/** Undefined for an unknown or expired credential, and for one of the other kind. */
function valid(kind: CredentialKind, known: Found | undefined): Principal | undefined {
  if (known?.kind !== kind) return undefined;
  const { expiresAt = Number.POSITIVE_INFINITY } = known.principal;
  return expiresAt * 1000 > Date.now() ? known.principal : undefined;
}

/** The credential with a hash. Records its use, at most once a minute. */
async function findCredential(db: Db, hash: string): Promise<Found | undefined> {
  const [row] = await db.run(AUTH_SQL.find_credential, [hash]);
  if (!row) return undefined;
  const { kind, subject, scopes, expires } = row;
  const principal: Principal = {
    subject: String(subject),
    scopes: scopesOf(scopes),
    scheme: kind === 'key' ? 'api-key' : 'mtls',
    expiresAt: typeof expires === 'number' ? expires / 1000 : undefined,
    credential: hash,
  };
  return { kind: kind as CredentialKind, principal };
}
