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
 * A copy that shares nothing with its original. `visit` is called with what is copied of each array and object, itself and
 * its members, before it is copied.
 */
export function clone(value: Json, visit: (members: number) => void = () => undefined): Json {
  if (Array.isArray(value)) {
    visit(1);
    const copy = value.slice();
    for (let index = 0; index < copy.length; index++) {
      const each = copy[index]!;
      if (typeof each === 'object' && each !== null) copy[index] = clone(each, visit);
    }
    return copy;
  }
  if (!isObject(value)) return value;
  const keys = Object.keys(value);
  visit(1 + keys.length);
  const copy = { ...value };
  for (const key of keys) {
    const member = copy[key]!;
    if (typeof member === 'object' && member !== null) setMember(copy, key, clone(member, visit));
  }
  return copy;
}

/**
 * Equality of RFC 6902 section 4.6: numbers by value, arrays in order, objects in any order. `visit` is called with the
 * members of each pair of objects and arrays before they are compared.
 */
export function equal(a: Json, b: Json, visit: (members: number) => void = () => undefined): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    visit(a.length);
    return a.every((value, index) => equal(value, b[index]!, visit));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  visit(keys.length);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && equal(a[key]!, b[key]!, visit))
  );
}

/** One reference token of a JSON Pointer, escaped (RFC 6901 section 3). */
export function escapeToken(token: string): string {
  return token.replaceAll('~', '~0').replaceAll('/', '~1');
}
