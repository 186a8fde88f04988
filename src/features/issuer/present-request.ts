import { AsyncLocalStorage } from 'node:async_hooks';
import type { Auth } from '../../feature.js';

/** A request to the authorization server. */
interface PresentRequest {
  /** The address against which a record without a user counts; undefined: it has counted, or there is none. */
  address: string | undefined;
  /** The attempt of a request that may be a guess of a secret or a code. */
  readonly attempt: ReturnType<Auth['throttle']['begin']> | undefined;
  /**
   * The versions of passwords that the request has seen, by user: with the first record of a user that it has read, or when it verified
   * the password. A request stores records of a user only while that version is current, so that nothing that began before a reset of
   * the password is committed after it.
   */
  readonly versions: Map<string, number>;
}

const requests = new AsyncLocalStorage<PresentRequest>();

export const presentRequest = (): PresentRequest | undefined => requests.getStore();

/** Runs one request. */
export const inRequest = <T>(
  work: () => Promise<T>,
  address?: string,
  attempt?: PresentRequest['attempt'],
): Promise<T> => requests.run({ address, attempt, versions: new Map() }, work);

/** Remembers a version that was read beside a record; the first one of a request counts. */
export function notePassword(userId: unknown, version: unknown): void {
  const versions = presentRequest()?.versions;
  if (typeof userId === 'string' && typeof version === 'number' && !versions?.has(userId))
    versions?.set(userId, version);
}

/** Remembers a version that was verified, or set, by the user in this request. */
export function confirmPassword(userId: string, version: number): void {
  presentRequest()?.versions.set(userId, version);
}

/** Undefined: the request has seen no password of the user, and so may store something only if the user has none. */
export const seenPassword = (userId: string): number | undefined => presentRequest()?.versions.get(userId);
