import { invalidBody } from '../errors/input-errors.js';

/** Levels of nesting that a body or a record may have. */
export const MAX_DEPTH = 32;
/** Maximum members of one object. Many members take long to parse and to store. */
const MAX_OBJECT_MEMBERS = 10_000;
/** Maximum members of all objects of a text. */
const MAX_MEMBERS = 50_000;
/** Maximum number of objects and arrays of a text. */
const MAX_CONTAINERS = 100_000;

const [QUOTE, BACKSLASH, COLON] = [0x22, 0x5c, 0x3a];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Throws invalidBody for JSON, in UTF-8, that is nested too deeply or has too many members, objects or arrays. Reads each
 * byte once and allocates nothing. It does not check that the text is valid JSON.
 */
export function requireJsonBounds(text: Uint8Array): void {
  let [depth, members, containers] = [0, 0, 0];
  /** Members so far of the object that is open at each depth. */
  const ofObject = new Uint32Array(MAX_DEPTH + 1);
  for (let at = 0; at < text.length; at++) {
    const byte = text[at];
    if (byte === QUOTE) at = endOfString(text, at);
    else if (byte === COLON) {
      members++;
      // Invalid JSON may close more than it opened.
      if (++ofObject[Math.max(0, depth)]! > MAX_OBJECT_MEMBERS)
        throw invalidBody(`must not have more than ${MAX_OBJECT_MEMBERS} members in one object`, 'members');
    } else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      containers++;
      depth++;
      if (depth > MAX_DEPTH) throw invalidBody(`must not be nested deeper than ${MAX_DEPTH} levels`, 'depth');
      ofObject[Math.max(0, depth)] = 0;
    } else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) depth--;
  }
  if (members > MAX_MEMBERS)
    throw invalidBody(`must not have more than ${MAX_MEMBERS} members in all`, 'members');
  if (containers > MAX_CONTAINERS)
    throw invalidBody(`must not have more than ${MAX_CONTAINERS} objects and arrays`, 'containers');
}

/** The index of the closing quotation mark. */
function endOfString(text: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== QUOTE) at += text[at] === BACKSLASH ? 2 : 1;
  return at;
}
