import type { Db } from '../../db/db.js';
import type { Log } from '../../telemetry/log.js';
import { CredentialRejected, type Principal } from '../principal.js';
import type { Scheme } from '../scheme.js';
import {
  CurrentCredentials,
  expiryOf,
  isStored,
  isUserDeleted,
  permitsTheSame,
  type Stored,
  validUntil,
} from './current-credentials.js';

interface Watched extends Stored {
  readonly onInvalid: () => void;
  /** Milliseconds since 1970. */
  expiresAt: number;
  /** When a failed recheck by the scheme is repeated; milliseconds of performance.now(). */
  recheckAt: number;
  /** Set while a deleted user's stream still sends its last events. */
  ending: NodeJS.Timeout | undefined;
}

const CREDENTIALS_PER_STATEMENT = 1000;
/** How long a deleted user's own stream continues, so that it sends the events of the deletion. */
const ENDING_MS = 500;
/** Concurrent rechecks by schemes. */
const MAX_RECHECKS = 8;
/** How many checks pass after a recheck that failed, until the next. */
const FAILED_CHECKS = 5;

/** Watches the credentials of event streams. */
export class CredentialWatch {
  readonly #watched = new Set<Watched>();
  readonly #timer: NodeJS.Timeout;
  readonly #current: CurrentCredentials;

  /**
   * `checkMs`: between two checks. They do not depend on notifications, which can be lost, and find changes by any process.
   * `callers`: further collections whose records are callers, besides the one that people sign in with.
   */
  constructor(
    db: Db,
    log: Log,
    readonly schemes: readonly Scheme[],
    readonly checkMs: number,
    callers: readonly string[] = [],
  ) {
    this.#current = new CurrentCredentials(db, callers);
    const checkStored = oneAtATime(() => this.#checkStored(), log);
    const checkWithSchemes = oneAtATime(() => this.#checkWithSchemes(), log);
    const rechecks = schemes.some((scheme) => scheme.recheck);
    this.#timer = setInterval(() => {
      if (this.#watched.size === 0) return;
      this.#expire();
      checkStored();
      if (rechecks) checkWithSchemes();
    }, checkMs).unref();
  }

  /**
   * Calls `onInvalid` once, within two checks after the credential is revoked or changed or expires, or its user is
   * deleted. Returns the function that ends the watch. Rejects with 503 while the database is away.
   */
  async watch(principal: Principal, onInvalid: () => void): Promise<() => void> {
    if (principal.scheme === 'none') return () => undefined;
    const userId = await this.#current.findUser(principal);
    const expiresAt = expiryOf(principal.expiresAt);
    const entry: Watched = { principal, onInvalid, userId, expiresAt, recheckAt: 0, ending: undefined };
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
    const entry = { principal, userId: await this.#current.findUser(principal) };
    const stored = isStored(entry) ? await this.#current.read([entry]) : undefined;
    const until = stored ? validUntil(entry, stored) : expiryOf(principal.expiresAt);
    const isDeleted = stored !== undefined && isUserDeleted(entry, stored);
    return until > Date.now() && !isDeleted ? principal : undefined;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #schemeOf({ scheme }: Principal): Scheme | undefined {
    return this.schemes.find(({ name }) => name === scheme);
  }

  #unwatch(entry: Watched): boolean {
    clearTimeout(entry.ending);
    return this.#watched.delete(entry);
  }

  #invalidate(entry: Watched): void {
    if (this.#unwatch(entry)) entry.onInvalid();
  }

  #expire(): void {
    const now = Date.now();
    for (const entry of this.#watched) if (entry.expiresAt <= now) this.#invalidate(entry);
  }

  async #checkStored(): Promise<void> {
    const stored = [...this.#watched].filter(isStored);
    for (let from = 0; from < stored.length; from += CREDENTIALS_PER_STATEMENT) {
      const entries = stored.slice(from, from + CREDENTIALS_PER_STATEMENT);
      const current = await this.#current.read(entries);
      for (const entry of entries) {
        entry.expiresAt = Math.min(entry.expiresAt, validUntil(entry, current));
        if (entry.expiresAt <= Date.now()) this.#invalidate(entry);
        else if (this.#watched.has(entry) && isUserDeleted(entry, current))
          entry.ending ??= setTimeout(() => this.#invalidate(entry), ENDING_MS).unref();
      }
    }
  }

  /** Stops after MAX_RECHECKS failures, since each further recheck would wait for the authorization server. */
  async #checkWithSchemes(): Promise<void> {
    const due = [...this.#watched].values();
    let failed = 0;
    const worker = async (): Promise<void> => {
      for (const entry of due) {
        if (failed >= MAX_RECHECKS) return;
        if (entry.recheckAt > performance.now() || (await this.#recheck(entry))) continue;
        failed++;
        entry.recheckAt = performance.now() + FAILED_CHECKS * this.checkMs;
      }
    };
    await Promise.all(Array.from({ length: MAX_RECHECKS }, worker));
  }

  /** Returns false when the scheme cannot verify the credential now, and has logged the reason. */
  async #recheck(entry: Watched): Promise<boolean> {
    const scheme = this.#schemeOf(entry.principal);
    try {
      const rechecked = scheme?.recheck?.(entry.principal);
      if (rechecked === undefined) return true;
      const { subject, scopes, expiresAt } = await rechecked;
      if (permitsTheSame(entry.principal, subject, scopes))
        entry.expiresAt = Math.min(entry.expiresAt, expiryOf(expiresAt));
      else this.#invalidate(entry);
      return true;
    } catch (error) {
      if (!(error instanceof CredentialRejected)) return false;
      this.#invalidate(entry);
      return true;
    }
  }
}

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
