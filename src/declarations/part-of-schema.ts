import type { JsonObject } from '../json.js';

/** The rules of a whole record that its parts obey as well. */
const OF_PARTS: ReadonlySet<string> = new Set([
  'type',
  'title',
  'additionalProperties',
  'patternProperties',
  'propertyNames',
  'maxProperties',
  'dependentRequired',
  'dependentSchemas',
  'allOf',
]);

/**
 * The rules of a record without those that name fields of `absent`, or that count members. `rules` are the keywords of its schema
 * besides `properties` and `required`.
 */
export function rulesWithout(absent: readonly string[], rules: JsonObject): JsonObject {
  if (absent.length === 0) return rules;
  const names = absent.map((name) => JSON.stringify(name));
  const isAboutOthers = ([keyword, value]: [string, unknown]) =>
    !OF_PARTS.has(keyword) || names.some((name) => JSON.stringify(value).includes(name));
  return Object.fromEntries(Object.entries(rules).filter((each) => !isAboutOthers(each)));
}
