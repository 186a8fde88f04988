import { timingSafeEqual } from 'node:crypto';

/** The cookie with which the pages of the service know a user that has signed in. Its value is a secret. */
export const SESSION_COOKIE = 'plinth_browser';

/** Over https, a prefix prevents other hosts and http from setting a cookie (RFC 6265bis section 4.1.3.2). */
const nameOf = (name: string, isSecure: boolean): string => (isSecure ? `__Host-${name}` : name);

/** The value of a cookie in the field Cookie. */
export function readCookie(field: string | undefined, name: string, isSecure: boolean): string | undefined {
  if (field === undefined) return undefined;
  const start = `${nameOf(name, isSecure)}=`;
  return field
    .split(';')
    .map((part) => part.trim())
    .find((part) => part.startsWith(start))
    ?.slice(start.length);
}

/**
 * The field Set-Cookie of a cookie that scripts cannot read and that requests from other sites do not carry, with `Lax` except links.
 * `maxAgeS` undefined: until the browser ends; 0: the browser deletes it.
 */
export function writeCookie(
  name: string,
  value: string,
  isSecure: boolean,
  maxAgeS?: number,
  sameSite: 'Strict' | 'Lax' = 'Strict',
): string {
  const age = maxAgeS === undefined ? '' : `; Max-Age=${maxAgeS}`;
  return `${nameOf(name, isSecure)}=${value}; Path=/${age}; HttpOnly; SameSite=${sameSite}${isSecure ? '; Secure' : ''}`;
}

/** Compares a value that a client has sent with the secret one in constant time. */
export function isEqual(text: string, expected: string): boolean {
  const [given, own] = [Buffer.from(text), Buffer.from(expected)];
  return given.length === own.length && timingSafeEqual(given, own);
}
