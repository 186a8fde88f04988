import { isUtf8 } from 'node:buffer';
import { invalidBody, payloadTooLarge } from '../../errors/input-errors.js';
import { notUtf8 } from '../../formats/text-encoding.js';
import { inexactNumber, MAX_DEPTH, requireJsonBounds, requireStorable } from '../../http/strict-json.js';
import { escapeToken, isObject, type Json, type JsonObject, setMember } from '../../json.js';

/** Bytes below which JSON cannot be nested too deeply. */
const MIN_DEEP_BYTES = 2 * MAX_DEPTH;

/** Reads one record, at an offset of its file, with the bounds of a request's body. Throws invalidBody and payloadTooLarge. */
export function readRecord(bytes: Buffer, maxBytes: number, offset: number): Json {
  if (bytes.length >= MIN_DEEP_BYTES) requireJsonBounds(bytes);
  if (bytes.length > maxBytes) throw payloadTooLarge(maxBytes);
  if (!isUtf8(bytes)) throw invalidBody(notUtf8(bytes, offset), 'encoding');
  const text = bytes.toString('utf8');
  const value = parse(text);
  requireExact(text);
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

/** Throws invalidBody for JSON with a number whose value changes when it is read as a double. */
export function requireExact(text: string): void {
  const found = inexactNumber(text);
  if (found !== undefined)
    throw invalidBody(`a number that does not fit a double: ${found.slice(0, 40)}`, 'number');
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
