import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * The versions of passwords that the present request has seen, by user: with the first record of a user that it has read, or
 * when it verified the password. A request stores records of a user only while that version is current, so that nothing
 * that began before a reset of the password is committed after it.
 */
const seen = new AsyncLocalStorage<Map<string, number>>();

/** Runs one request. */
export const withSeenPasswords = <T>(work: () => Promise<T>): Promise<T> => seen.run(new Map(), work);

/** Remembers a version that was read beside a record; the first one of a request counts. */
export function notePassword(userId: unknown, version: unknown): void {
  const versions = seen.getStore();
  if (typeof userId === 'string' && typeof version === 'number' && !versions?.has(userId))
    versions?.set(userId, version);
}

/** Remembers a version that was verified, or set, by the user in this request. */
export function confirmPassword(userId: string, version: number): void {
  seen.getStore()?.set(userId, version);
}

/** Undefined: the request has seen no password of the user, and so may store something only if the user has none. */
export const seenPassword = (userId: string): number | undefined => seen.getStore()?.get(userId);
