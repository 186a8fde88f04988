import { isObject, type Json, type JsonObject, member, setMember } from '../json.js';

/** The result of a JSON merge patch on `target`, which is not changed: the algorithm of RFC 7396 section 2. */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const result = copyOf(target);
  for (const key of Object.keys(patch)) {
    const value = patch[key]!;
    if (value === null) delete result[key];
    else setMember(result, key, mergePatch(member(result, key), value));
  }
  return result;
}

/** The given top-level fields assigned as they are: what a plain JSON PATCH does. */
export function assign(target: JsonObject, fields: JsonObject): JsonObject {
  const result = copyOf(target);
  for (const key of Object.keys(fields)) setMember(result, key, fields[key]!);
  return result;
}

function copyOf(value: Json | undefined): JsonObject {
  return isObject(value) ? { ...value } : {};
}
