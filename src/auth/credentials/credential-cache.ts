import QuickLRU from 'quick-lru';
import type { Db } from '../../db/db.js';
import type { Principal } from '../../principal.js';
import type { Log } from '../../telemetry/log.js';
import { type Found, findCredential, type Kind } from './credentials.js';

/** Finds out whom keys and certificates stand for. */
export interface CredentialCache {
  /**
   * The principal behind a SHA-256 in base64, without a promise when the answer is known; undefined when it has none
   * that is good now. Rejects when the database is away.
   */
  readonly find: (kind: Kind, hash: string) => Promise<Principal | undefined> | Principal | undefined;
  /** The next `find` asks the database. */
  readonly forget: (hash: string) => void;
  readonly close: () => Promise<void>;
}

/** For how long an answer is good, in milliseconds: a revocation whose message is lost takes effect after that. */
const TRUST_MS = 1000;
/** Answers that are kept. */
const MAX = 10_000;

/** An answer, and when it was asked for: milliseconds of performance.now(), which no clock that is set moves. */
interface Dated<T> {
  readonly at: number;
  readonly found: T;
}

type Asked = Dated<Promise<Found | undefined>>;

/**
 * Keeps answers for a second, and only while it hears of revocations: one that it hears of counts at once. Those
 * who ask for the same at the same time share one statement. What is not known is asked for again each time.
 */
export function openCredentialCache(
  db: Db,
  log: Log,
  now: () => number = () => performance.now(),
): CredentialCache {
  const known = new QuickLRU<string, Dated<Found>>({ maxSize: MAX / 2 });
  // Bounded by the queue of the database.
  const pending = new Map<string, Asked>();
  let hears = false;
  let warned = false;

  const forget = (hash: string): void => {
    known.delete(hash);
    pending.delete(hash);
  };
  const forgetAll = (): void => {
    known.clear();
    pending.clear();
  };
  const end = db.listen('plinth_revoked', {
    onMessage: forget,
    onOpen: () => {
      // Answers from before may have been revoked unheard.
      forgetAll();
      hears = true;
      if (warned) log.warn('revocations are heard of again');
      warned = false;
    },
    onLost: (err) => {
      hears = false;
      forgetAll();
      if (!warned) log.warn({ err }, 'revocations are not heard of: every credential is looked up each time');
      warned = true;
    },
  });

  function ask(hash: string): Asked {
    const asked: Asked = { at: now(), found: findCredential(db, hash) };
    pending.set(hash, asked);
    const settle = (found: Found | undefined): void => {
      // Revoked meanwhile, or too slow: the answer is for those who wait for it, and for nobody else.
      if (pending.get(hash) !== asked) return;
      pending.delete(hash);
      if (found && hears) known.set(hash, { at: asked.at, found });
    };
    // Those who asked get the error; here it only means that there is nothing to keep.
    asked.found.then(settle, () => settle(undefined));
    return asked;
  }

  const fresh = <T>(answer: Dated<T> | undefined): T | undefined =>
    answer && now() - answer.at < TRUST_MS ? answer.found : undefined;

  return {
    find: (kind, hash) => {
      const found = fresh(known.get(hash));
      if (found) return principalOf(kind, hash, found);
      const asked = fresh(pending.get(hash)) ?? ask(hash).found;
      return asked.then((answer) => principalOf(kind, hash, answer));
    },
    forget,
    close: end,
  };
}

/** Undefined for nobody, for a credential of another kind, and for one that has expired. */
function principalOf(kind: Kind, hash: string, found: Found | undefined): Principal | undefined {
  if (!found || found.kind !== kind) return undefined;
  const { subject, scopes, expires } = found;
  if (expires !== undefined && expires <= Date.now()) return undefined;
  return {
    subject,
    scopes,
    scheme: kind === 'key' ? 'api-key' : 'mtls',
    expiresAt: expires === undefined ? undefined : expires / 1000,
    credential: hash,
  };
}
