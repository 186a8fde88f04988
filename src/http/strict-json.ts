import { isUtf8 } from 'node:buffer';
import { invalidBody } from '../errors.js';
import { escapeToken, type Json, type JsonObject } from '../json.js';
import { LONG_TASK_BYTES, nextLongTask } from '../limits/long-task.js';
import { inexactNumbers, requireExactNumbers, requireExactNumbersInStages } from './exact-numbers.js';
import { MAX_DEPTH, requireJsonBounds } from './json-bounds.js';

const NOT_JSON = invalidBody('The body is not valid JSON.', 'json');

/**
 * Reads a body as JSON (RFC 8259), as strict as what is to be stored: UTF-8, at most 32 levels deep, no
 * U+0000 or lone surrogate, no number that a double cannot hold. If a name is repeated in an object, the last value wins.
 * A long body is read in stages, each a long task of its own. Throws invalidBody.
 */
export function readJson(bytes: Buffer): Json | Promise<Json> {
  return bytes.length > LONG_TASK_BYTES ? readLongJson(bytes) : readShortJson(bytes);
}

function readShortJson(bytes: Buffer): Json {
  const text = decode(bytes);
  const value = parse(text);
  requireExactNumbers(text);
  requireStorable(value);
  return value;
}

async function readLongJson(bytes: Buffer): Promise<Json> {
  const text = decode(bytes);
  if (isCutShort(text)) throw NOT_JSON;
  requireJsonBounds(bytes);
  const value = parse(text);
  await requireExactNumbersInStages(text);
  await nextLongTask();
  requireStorable(value);
  await nextLongTask();
  return value;
}

/**
 * Reads a file of records, each of which is to be judged by itself with requireStorable: a number that a
 * double cannot hold becomes a string that this refuses. Throws invalidBody when the whole is no JSON.
 */
export function readRecords(bytes: Buffer): Json {
  const text = decode(bytes);
  let marked = '';
  let done = 0;
  for (const { start, token } of inexactNumbers(text)) {
    marked += text.slice(done, start) + JSON.stringify(`\u0000${token}`);
    done = start + token.length;
  }
  return parse(marked + text.slice(done));
}

function decode(bytes: Buffer): string {
  if (bytes.length === 0) throw invalidBody('The body is empty.', 'json');
  if (!isUtf8(bytes)) throw invalidBody('The body is not UTF-8.', 'encoding');
  return bytes.toString('utf8').replace(/^\uFEFF/, '');
}

/**
 * Whether it ends before what it begins with is closed, as most bodies do that are no JSON: V8 takes 8 us, a third of
 * what the whole request costs, to say so.
 */
function isCutShort(text: string): boolean {
  const trimmed = text.trim();
  if (trimmed.startsWith('{')) return !trimmed.endsWith('}');
  return trimmed.startsWith('[') && !trimmed.endsWith(']');
}

/** No stack of a fault that is the client's: it was two thirds of what a broken body takes here, 9 us of 37 in all. */
function parse(text: string): Json {
  if (isCutShort(text)) throw NOT_JSON;
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw NOT_JSON;
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** Throws invalidBody for what PostgreSQL, or the next reader, cannot hold. */
export function requireStorable(value: Json): void {
  const fault = faultIn(value, 1);
  if (fault) throw invalidBody(fault.message, fault.keyword, fault.path);
}

interface Fault {
  readonly message: string;
  readonly keyword: string;
  /** Put together on the way back, so that a value without a fault costs no text. */
  path: string;
}

function faultIn(value: Json, depth: number): Fault | undefined {
  if (typeof value === 'string') return faultOfText(value);
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth > MAX_DEPTH)
    return { message: `must not be nested deeper than ${MAX_DEPTH} levels`, keyword: 'depth', path: '' };
  return Array.isArray(value) ? faultInArray(value, depth) : faultInObject(value, depth);
}

function faultInArray(value: readonly Json[], depth: number): Fault | undefined {
  for (let index = 0; index < value.length; index++) {
    const fault = faultIn(value[index]!, depth + 1);
    if (fault) return below(String(index), fault);
  }
  return undefined;
}

function faultInObject(value: JsonObject, depth: number): Fault | undefined {
  for (const key of Object.keys(value)) {
    const fault = faultOfText(key) ?? below(key, faultIn(value[key]!, depth + 1));
    if (fault) return fault;
  }
  return undefined;
}

function below(key: string, fault: Fault | undefined): Fault | undefined {
  // The depth of a body is a fault of the whole.
  if (fault && fault.keyword !== 'depth') fault.path = `/${escapeToken(key)}${fault.path}`;
  return fault;
}

function faultOfText(text: string): Fault | undefined {
  if (text.includes('\u0000')) return { message: 'must not contain U+0000', keyword: 'unicode', path: '' };
  if (text.isWellFormed()) return undefined;
  return { message: 'must not contain a lone surrogate', keyword: 'unicode', path: '' };
}
