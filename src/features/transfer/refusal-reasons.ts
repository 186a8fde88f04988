import type { Resource } from '../../collection/resource.js';
import { knownProblem } from '../../db/database-errors.js';
import type { Failure, Problem } from '../../errors/problem.js';
import { escapeToken, isObject, type Json, member, unescapeToken } from '../../json.js';

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
  const id = isObject(given) ? member(given, 'id') : undefined;
  const label = typeof id === 'string' || typeof id === 'number' ? [`record ${shown(id)}`] : [];
  return faultsOf(error, resource, given).map(({ path, code, message, value }) => {
    const text = code === VALIDATION ? message : `${code}: ${message}`;
    const details = [...(value === undefined ? [] : [`value ${value}`]), ...label];
    return [path, details.length === 0 ? text : `${text} (${details.join(', ')})`];
  });
}

const VALIDATION = 'VALIDATION_ERROR';

/** One reason to refuse a record. */
export interface Fault {
  /** A JSON Pointer to the field; empty: the whole record. */
  readonly path: string;
  readonly code: string;
  readonly message: string;
  /** The beginning of the value, as JSON; undefined: there is none, or clients must not see it. */
  readonly value: string | undefined;
}

/** Each reason of an error to refuse a record. Throws what no record has caused. */
export function faultsOf(error: unknown, resource: Resource, given: Json | undefined): Fault[] {
  const problem = knownProblem(error);
  if (!problem || problem.status >= 500) throw problem ?? error;
  const { code } = problem;
  return failuresOf(problem).map(({ path, message }) => ({
    ...{ path, code, message },
    value: shownAt(path, resource, given),
  }));
}

function failuresOf({ code, message, more }: Problem): readonly Pick<Failure, 'path' | 'message'>[] {
  if (code === VALIDATION) return more.details as readonly Failure[];
  // One for each field that must not be set.
  if (Array.isArray(more.details))
    return (more.details as readonly Pick<Failure, 'path'>[]).map(({ path }) => ({ path, message }));
  const { path, field } = (more.details ?? {}) as { path?: string; field?: string };
  return [{ path: path ?? (field === undefined ? '' : `/${escapeToken(field)}`), message }];
}

function shownAt(
  path: string,
  { writeOnly, hasPasswords }: Resource,
  given: Json | undefined,
): string | undefined {
  if (!isObject(given) || path === '') return undefined;
  const [first = '', ...rest] = path.slice(1).split('/').map(unescapeToken);
  if (writeOnly.includes(first) || (hasPasswords && /password/i.test(first))) return undefined;
  const value = rest.reduce(memberOf, memberOf(given, first));
  return value === undefined ? undefined : shown(value);
}

/** A member of an object, or an element of an array; undefined: there is none. */
function memberOf(value: Json | undefined, token: string): Json | undefined {
  if (Array.isArray(value)) return value[Number(token)];
  return isObject(value) ? member(value, token) : undefined;
}

function shown(value: Json): string {
  const text = JSON.stringify(value);
  return text.length <= MAX_VALUE ? text : `${text.slice(0, MAX_VALUE)}...`;
}
