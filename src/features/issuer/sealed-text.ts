import { createHmac } from 'node:crypto';
import { isEqual } from '../../auth/cookies.js';

/** A token that only this service can make, of a form or of a text. */
export const formToken = (secret: string, text: string): string =>
  createHmac('sha256', secret).update(text).digest('base64url');

/** A value as a text that only this service can make, for one use, and that is valid for some seconds. */
export function seal(secret: string, use: string, value: object, seconds: number): string {
  const until = Math.floor(Date.now() / 1000) + seconds;
  const text = Buffer.from(JSON.stringify({ ...value, until })).toString('base64url');
  return `${text}.${formToken(secret, `sealed\n${use}\n${text}`)}`;
}

/** The value of a sealed text that is still valid, with its end in seconds since 1970. */
export function unseal<T>(secret: string, use: string, sealed: string) {
  const [text = '', token = ''] = sealed.split('.', 2);
  if (!isEqual(token, formToken(secret, `sealed\n${use}\n${text}`))) return undefined;
  const value = JSON.parse(Buffer.from(text, 'base64url').toString()) as T & { readonly until: number };
  return value.until < Date.now() / 1000 ? undefined : value;
}
