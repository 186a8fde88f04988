import type { Resource } from '../../collection/resource.js';
import { problemOf } from '../../db/database-errors.js';
import { type Failure, Problem } from '../../errors/problem.js';
import { escapeToken, isObject, type Json, member } from '../../json.js';

/** Characters of a value in a message. */
const MAX_VALUE = 60;

/**
 * Each reason of an error to refuse a record, with the path to the field, its value, and the id of the record. Throws what no
 * record has caused.
 */
export function reasonsOf(
  error: unknown,
  resource: Resource,
  given: Json | undefined,
): [path: string, reason: string][] {
  const problem = error instanceof Problem ? error : problemOf(error);
  if (!problem || problem.status >= 500) throw problem ?? error;
  return failuresOf(problem).map(({ path, message }) => {
    const details = detailsOf(path, resource, given);
    return [path, details.length === 0 ? message : `${message} (${details.join(', ')})`];
  });
}

function failuresOf({ code, message, more }: Problem): readonly Pick<Failure, 'path' | 'message'>[] {
  if (code === 'VALIDATION_ERROR') return more.details as readonly Failure[];
  const { path, field } = (more.details ?? {}) as { path?: string; field?: string };
  const found = path ?? (field === undefined ? '' : `/${escapeToken(field)}`);
  return [{ path: found, message: `${code}: ${message}` }];
}

function detailsOf(path: string, { writeOnly, hasPasswords }: Resource, given: Json | undefined): string[] {
  if (!isObject(given)) return [];
  const id = member(given, 'id');
  const label = typeof id === 'string' || typeof id === 'number' ? [`record ${shown(id)}`] : [];
  const [first = ''] = path.slice(1).split('/').map(unescapeToken);
  const isSecret = writeOnly.includes(first) || (hasPasswords && /password/i.test(first));
  const value = path === '' || isSecret ? undefined : valueAt(given, path);
  return [...(value === undefined ? [] : [`value ${shown(value)}`]), ...label];
}

const unescapeToken = (token: string) => token.replaceAll('~1', '/').replaceAll('~0', '~');

/** The value at a JSON Pointer; undefined: there is none. */
function valueAt(record: Json, path: string): Json | undefined {
  let value: Json | undefined = record;
  for (const token of path.slice(1).split('/').map(unescapeToken)) {
    if (Array.isArray(value)) value = /^\d+$/.test(token) ? value[Number(token)] : undefined;
    else value = isObject(value) ? member(value, token) : undefined;
    if (value === undefined) return undefined;
  }
  return value;
}

function shown(value: Json): string {
  const text = JSON.stringify(value);
  return text.length <= MAX_VALUE ? text : `${text.slice(0, MAX_VALUE)}...`;
}
