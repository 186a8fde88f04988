import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** How each API key begins. */
export const API_KEY_PREFIX = 'plinth_';
/** Random characters: 190 bits. */
const LENGTH = 32;
/** Characters of the checksum: 62 ** 6 is more than 2 ** 32. */
const CHECK = 6;
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const FORM = /^plinth_[0-9A-Za-z]{38}$/;

/** A new API key: `plinth_`, 32 random base62 characters, and the CRC-32 of all that in 6 more. */
export function newKey(): string {
  let text = API_KEY_PREFIX;
  for (let at = 0; at < LENGTH; at++) text += DIGITS[randomInt(DIGITS.length)];
  return text + checksum(text);
}

/** Whether a text may be a key: a slip of the pen, or a guess, is told without a look into the database. */
export function isKey(text: string): boolean {
  return FORM.test(text) && checksum(text.slice(0, -CHECK)) === text.slice(-CHECK);
}

/** What is known of a key: its SHA-256, in base64. */
export function hashOf(key: string): string {
  return hash('sha256', key, 'base64');
}

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let at = 0; at < CHECK; at++) {
    digits = DIGITS[rest % DIGITS.length] + digits;
    rest = Math.floor(rest / DIGITS.length);
  }
  return digits;
}
