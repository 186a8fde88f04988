export type Json = null | boolean | number | string | Json[] | JsonObject;
export type JsonObject = { [key: string]: Json };

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Sets a member, any key: an assignment to `__proto__` would change the prototype instead. */
export function setMember(target: JsonObject, key: string, value: Json): void {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
  } else {
    target[key] = value;
  }
}

/** A member of the object itself, never an inherited one. */
export function member(target: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(target, key) ? target[key] : undefined;
}

/**
 * How many of `max` characters the JSON of a value leaves, without escapes; negative: it has more. Nothing is read of what
 * exceeds them.
 */
export function charactersLeft(value: Json | undefined, max: number): number {
  if (value === undefined) return max;
  if (typeof value === 'string') return max - value.length - 2;
  if (typeof value !== 'object' || value === null) return max - String(value).length;
  let left = max - 1;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && left >= 0; at++) left = charactersLeft(value[at], left - 1);
    return left;
  }
  for (const name of Object.keys(value)) {
    if (left < 0) break;
    left = charactersLeft(value[name], left - name.length - 4);
  }
  return left;
}

/** A deep copy. */
export function clone(value: Json): Json {
  if (Array.isArray(value)) {
    const copy = value.slice();
    for (let at = 0; at < copy.length; at++) if (typeof copy[at] === 'object') copy[at] = clone(copy[at]!);
    return copy;
  }
  if (!isObject(value)) return value;
  const copy = { ...value };
  for (const key of Object.keys(value)) {
    const each = value[key]!;
    if (typeof each === 'object' && each !== null) setMember(copy, key, clone(each));
  }
  return copy;
}

/** One reference token of a JSON Pointer, escaped (RFC 6901 section 3). */
export function escapeToken(token: string): string {
  return token.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** The name or index that a reference token of a JSON Pointer means. */
export const unescapeToken = (token: string): string => token.replaceAll('~1', '/').replaceAll('~0', '~');
