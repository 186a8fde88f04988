import { timingSafeEqual } from 'node:crypto';

/** Compares the token of a form in constant time. */
export function isEqual(text: string, expected: string): boolean {
  const [given, own] = [Buffer.from(text), Buffer.from(expected)];
  return given.length === own.length && timingSafeEqual(given, own);
}
