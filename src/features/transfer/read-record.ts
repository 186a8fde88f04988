import { isUtf8 } from 'node:buffer';
import { invalidBody, payloadTooLarge } from '../../errors/input-errors.js';
import { notUtf8 } from '../../formats/text-encoding.js';
import {
  inexactNumbers,
  MAX_DEPTH,
  readRecords,
  requireJsonBounds,
  requireStorable,
} from '../../http/strict-json.js';
import { escapeToken, isObject, type Json, type JsonObject, setMember } from '../../json.js';

/** Bytes below which JSON cannot be nested too deeply. */
const MIN_DEEP_BYTES = 2 * MAX_DEPTH;

/** Reads one record, at an offset of its file, with the bounds of a request's body. Throws invalidBody and payloadTooLarge. */
export function readRecord(bytes: Buffer, maxBytes: number, offset: number): Json {
  if (bytes.length >= MIN_DEEP_BYTES) requireJsonBounds(bytes);
  if (bytes.length > maxBytes) throw payloadTooLarge(maxBytes);
  if (!isUtf8(bytes)) throw invalidBody(notUtf8(bytes, offset), 'encoding');
  const text = bytes.toString('utf8');
  if (inexactNumbers(text).length > 0) {
    const marked = readRecords(bytes);
    requireExact(marked, '', 1);
    requireStorable(marked);
    return marked;
  }
  const value = parse(text);
  // Only an escape can be a character that is not storable.
  if (text.includes('\\u')) requireStorable(value);
  return value;
}

function parse(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw invalidBody('is not valid JSON', 'json');
  }
}

/** Refuses a number that does not fit a double, which readRecords has marked. */
function requireExact(value: Json, path: string, depth: number): void {
  if (typeof value === 'string' && value.startsWith('\u0000') && /^-?\d/.test(value.slice(1))) {
    throw invalidBody(`a number that does not fit a double: ${value.slice(1, 41)}`, 'number', path);
  }
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return;
  for (const [key, member] of Object.entries(value))
    requireExact(member, `${path}/${escapeToken(key)}`, depth + 1);
}

/** A record with new names of its fields. Throws invalidBody if two have the same. */
export function withNames(record: Json, rename: ReadonlyMap<string, string>): Json {
  if (rename.size === 0 || !isObject(record)) return record;
  const result: JsonObject = {};
  for (const key of Object.keys(record)) {
    const name = rename.get(key) ?? key;
    // One of two values would be lost.
    if (Object.hasOwn(result, name))
      throw invalidBody('two fields have this name after --rename', 'rename', `/${escapeToken(name)}`);
    setMember(result, name, record[key]!);
  }
  return result;
}
