import { isUtf8 } from 'node:buffer';
import { invalidBody } from '../errors.js';
import { escapeToken, type Json } from '../json.js';

/** Levels of nesting that a body may have. */
export const MAX_DEPTH = 32;

/**
 * Reads a body as JSON (RFC 8259), as strict as what is to be stored: UTF-8, at most 32 levels deep, no
 * U+0000 or lone surrogate, no number that a double cannot hold. Of a member that stands twice, the last
 * one counts. Throws invalidBody.
 */
export function readJson(bytes: Buffer): Json {
  if (bytes.length === 0) throw invalidBody('The body is empty.', 'json');
  if (!isUtf8(bytes)) throw invalidBody('The body is not UTF-8.', 'encoding');
  const text = bytes.toString('utf8').replace(/^\uFEFF/, '');
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch {
    throw invalidBody('The body is not valid JSON.', 'json');
  }
  requireExactNumbers(text);
  requireStorable(value, '', 1);
  return value;
}

/** Throws invalidBody for what PostgreSQL, or the next reader, cannot hold. */
export function requireStorable(value: Json, path: string, depth: number): void {
  if (typeof value === 'string') {
    if (value.includes('\u0000')) throw invalidBody('must not contain U+0000', 'unicode', path);
    if (!value.isWellFormed()) throw invalidBody('must not contain a lone surrogate', 'unicode', path);
  } else if (typeof value === 'object' && value !== null) {
    if (depth > MAX_DEPTH) throw invalidBody(`must not be nested deeper than ${MAX_DEPTH} levels`, 'depth');
    if (Array.isArray(value)) {
      for (let index = 0; index < value.length; index++)
        requireStorable(value[index]!, `${path}/${index}`, depth + 1);
    } else {
      for (const key of Object.keys(value)) {
        if (key.includes('\u0000') || !key.isWellFormed()) requireStorable(key, path, depth);
        requireStorable(value[key]!, `${path}/${escapeToken(key)}`, depth + 1);
      }
    }
  }
}

/** A run that may be a number of more than fifteen digits, or with an exponent; most bodies have none. */
const SUSPECT = /[\d.]{16}|\d[eE]/;
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

/** A number is refused when reading it as a double would change its value. */
function requireExactNumbers(text: string): void {
  if (!SUSPECT.test(text)) return;
  for (const [token] of text.matchAll(TOKEN)) {
    if (token[0] === '"' || (token.length < 16 && !/e/i.test(token))) continue;
    if (decimal(token) !== decimal(String(Number(token)))) {
      throw invalidBody(`holds a number that does not fit a double: ${token.slice(0, 40)}`, 'number');
    }
  }
}

/** The value of a number's text in one form: digits without zeros at either end, and their exponent. */
function decimal(text: string): string {
  const [, whole = '', fraction = '', exponent = '0'] =
    /^-?(\d+)\.?(\d*)(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  if (whole === '') return text; // Infinity
  const digits = (whole + fraction).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return '0';
  return `${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}
