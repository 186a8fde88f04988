import { isUtf8 } from 'node:buffer';
import { invalidBody, payloadTooLarge } from '../errors/input-errors.js';
import { escapeToken, type Json } from '../json.js';
import { LONG_TASK_BYTES, turn } from '../limits/turn.js';

const TRUNCATED = invalidBody('The body is not valid JSON: it ends before the JSON is complete.', 'json');

/**
 * Reads a body as JSON (RFC 8259) that can be stored: UTF-8, at most 32 levels deep, without U+0000 and lone
 * surrogates, without numbers that do not fit a double. If a name is repeated in an object, the last value wins. A long
 * body is read in parts. Throws invalidBody.
 */
export function readJson(bytes: Buffer): Json | Promise<Json> {
  if (bytes.length > LONG_TASK_BYTES) return readLongJson(bytes);
  const text = decode(bytes);
  const value = parse(text);
  requireExactNumbers(text);
  requireStorable(value);
  return value;
}

async function readLongJson(bytes: Buffer): Promise<Json> {
  const text = decode(bytes);
  requireJsonBounds(bytes);
  await turn();
  const value = parse(text);
  await turn();
  requireExactNumbers(text);
  await turn();
  requireStorable(value);
  await turn();
  return value;
}

function decode(bytes: Buffer): string {
  if (bytes.length === 0) throw invalidBody('The body is empty.', 'json');
  if (!isUtf8(bytes)) throw invalidBody('The body is not UTF-8.', 'encoding');
  return bytes.toString('utf8').replace(/^\uFEFF/, '');
}

/** Throws invalidBody. V8 makes no stack trace, which would cost more than the rest of the request. */
function parse(text: string): Json {
  if (isTruncatedJson(text)) throw TRUNCATED;
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    throw notJson(error as Error);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** Only the position of V8's message, if there is one: the rest may quote the body. */
function notJson({ message }: Error) {
  const [, at] = /JSON at position (\d+)(?: \(line \d+ column \d+\))?$/.exec(message) ?? [];
  return invalidBody(`The body is not valid JSON${at === undefined ? '' : `: see position ${at}`}.`, 'json');
}

/**
 * Throws 400 or 413 for a record that the body of a request could not contain: CSV, and the result of a patch, are no text
 * that is checked before it is parsed.
 */
export function requireRecordBounds(record: Json, maxBytes: number): void {
  requireStorable(record);
  const text = Buffer.from(JSON.stringify(record));
  if (text.length > maxBytes) throw payloadTooLarge(maxBytes);
  requireJsonBounds(text);
}

/** Throws invalidBody for a value that PostgreSQL or another reader of the record cannot hold. */
export function requireStorable(value: Json): void {
  const invalid = findInvalid(value, 1);
  if (invalid) throw invalidBody(invalid.message, invalid.keyword, invalid.path);
}

interface Invalid {
  readonly message: string;
  readonly keyword: string;
  /** Extended while the recursion returns, so that a valid value costs no text. */
  path: string;
}

function findInvalid(value: Json, depth: number): Invalid | undefined {
  if (typeof value === 'string') return invalidText(value);
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth > MAX_DEPTH)
    return { message: `must not be nested deeper than ${MAX_DEPTH} levels`, keyword: 'depth', path: '' };
  const names = Array.isArray(value) ? undefined : Object.keys(value);
  const members = names ? Object.values(value) : (value as readonly Json[]);
  for (let at = 0; at < members.length; at++) {
    const name = names?.[at];
    const invalidName = name === undefined ? undefined : invalidText(name);
    if (invalidName) return invalidName;
    const invalid = findInvalid(members[at]!, depth + 1);
    // The depth concerns the whole body.
    if (invalid && invalid.keyword !== 'depth')
      invalid.path = `/${escapeToken(name ?? String(at))}${invalid.path}`;
    if (invalid) return invalid;
  }
  return undefined;
}

function invalidText(text: string): Invalid | undefined {
  if (text.includes('\u0000')) return { message: 'must not contain U+0000', keyword: 'unicode', path: '' };
  if (text.isWellFormed()) return undefined;
  return { message: 'must not contain a lone surrogate', keyword: 'unicode', path: '' };
}

/**
 * Whether a text ends before what it begins with is closed, as most bodies that are not valid JSON do. V8 takes several
 * microseconds to report the same, a third of what such a request costs in all.
 */
function isTruncatedJson(text: string): boolean {
  const trimmed = text.trim();
  if (trimmed.startsWith('{')) return !trimmed.endsWith('}');
  return trimmed.startsWith('[') && !trimmed.endsWith(']');
}

/** Levels of nesting that a body or a record may have. */
const MAX_DEPTH = 32;

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

/** Throws invalidBody for JSON with a number whose value changes when it is read as a double. */
function requireExactNumbers(text: string): void {
  if (inexactNumber(text) !== undefined)
    throw invalidBody('holds a number that does not fit a double', 'number');
}

/** Whether there may be a number of more than fifteen digits or with an exponent; few bodies have one. */
const SUSPECT = /[\d.]{16}|\d[eE]/;

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/** The first number of JSON whose value changes when it is read as a double; undefined: there is none. */
export function inexactNumber(text: string): string | undefined {
  if (!SUSPECT.test(text)) return undefined;
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!;
    if (character === '"') at = endOfText(text, at);
    else if (character === '-' || (character >= '0' && character <= '9')) {
      NUMBER.lastIndex = at;
      const token = NUMBER.exec(text)?.[0] ?? character;
      if (isInexact(token)) return token;
      at += token.length - 1;
    }
  }
  return undefined;
}

/** The index of the closing quotation mark. A loop, since a regular expression would overflow the stack. */
function endOfText(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at;
}

/** Digits that a double always holds, in the range of full precision. */
const EXACT_LENGTH = 15;

const [MIN_EXACT, MAX_EXACT] = [1e-290, 1e290];

/** Whether the value of a number in decimal digits changes when it is read as a double. */
export function isInexact(token: string): boolean {
  if (token.length < 16 && !token.includes('e') && !token.includes('E')) return false;
  const value = Math.abs(Number(token));
  if (token.length <= EXACT_LENGTH && value > MIN_EXACT && value < MAX_EXACT) return false;
  return decimal(token) !== decimal(String(Number(token)));
}

/** The canonical form of a number: digits without zeros at either end, and their exponent. */
function decimal(text: string): string {
  const [, whole = '', fraction = '', exponent = '0'] =
    /^-?(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  if (whole === '') return text; // Infinity
  const digits = (whole + fraction).replace(/^0+/, '');
  if (digits === '') return '0';
  // A loop, since /0+$/ takes quadratic time when the zeros are followed by another digit.
  let end = digits.length;
  while (digits[end - 1] === '0') end--;
  return `${digits.slice(0, end)}e${Number(exponent) - fraction.length + digits.length - end}`;
}
