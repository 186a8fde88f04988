import { hash as digest } from 'node:crypto';
import QuickLRU from 'quick-lru';
import { verifyPassword } from '../passwords/password.js';

const MAX_KNOWN = 10_000;
const KNOWN_MS = 60_000;

/** Verifies passwords, and knows for a minute, by a digest, which ones were right for which hash. */
export class PasswordCheck {
  readonly #known = new QuickLRU<string, number>({ maxSize: MAX_KNOWN / 2 });

  /** Without a hash: false, at the cost of a wrong password. Throws 503 when too many passwords are being checked. */
  async isRight(password: string, hash: string | undefined): Promise<boolean> {
    // The hash with its salt is part of the key: a changed password has to be verified anew.
    const key = digest('sha256', `${hash}\n${password}`, 'base64');
    if (hash !== undefined && (this.#known.get(key) ?? 0) > Date.now()) return true;
    if (!(await verifyPassword(password, hash))) return false;
    this.#known.set(key, Date.now() + KNOWN_MS);
    return true;
  }
}
