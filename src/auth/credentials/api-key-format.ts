import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

export const API_KEY_PREFIX = 'plinth_';
/** 190 random bits. */
const RANDOM_LENGTH = 32;
/** 62 ** 6 is more than 2 ** 32. */
const CHECKSUM_LENGTH = 6;
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const FORM = /^plinth_[0-9A-Za-z]{38}$/;

/** A new API key: `plinth_`, 32 random base62 characters, and the CRC-32 of these in 6 characters. */
export function newKey(): string {
  let text = API_KEY_PREFIX;
  for (let at = 0; at < RANDOM_LENGTH; at++) text += DIGITS[randomInt(DIGITS.length)];
  return text + checksum(text);
}

/** Whether a text has the format of a key; the checksum detects typing errors without a database query. */
export function isKey(text: string): boolean {
  return FORM.test(text) && checksum(text.slice(0, -CHECKSUM_LENGTH)) === text.slice(-CHECKSUM_LENGTH);
}

/** The form in which a key is stored: its SHA-256 in base64. */
export function hashOf(key: string): string {
  return hash('sha256', key, 'base64');
}

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let at = 0; at < CHECKSUM_LENGTH; at++) {
    digits = DIGITS[rest % DIGITS.length] + digits;
    rest = Math.floor(rest / DIGITS.length);
  }
  return digits;
}
