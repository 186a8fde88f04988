import type { Resource } from '../../collection/resource.js';

/** The field that holds the id from before an import, if a collection declares it. */
export const LEGACY_ID = 'legacy_id';

/** The word before the end of `authorId`, `author_id` and `AuthorID`; undefined: the field has no such end. */
export const stemOf = (field: string): string | undefined => /^(.+?)(?:I[dD]|_id|_ID)$/.exec(field)?.[1];

/** A name without what distinguishes `orderLines`, `OrderLines` and `order_lines`. */
export const plainName = (name: string): string => name.replaceAll('_', '').toLowerCase();

/** The ends of words, with those of their plurals. */
// biome-ignore format: one pair a line says no more
const PLURALS: readonly (readonly [end: string, plural: string])[] = [
  ['', 's'], ['y', 'ies'], ['', 'es'], ['f', 'ves'], ['fe', 'ves'], ['person', 'people'], ['child', 'children'],
  ['man', 'men'], ['foot', 'feet'], ['tooth', 'teeth'], ['goose', 'geese'], ['mouse', 'mice'], ['z', 'zzes'],
  ['is', 'es'], ['us', 'i'], ['um', 'a'], ['on', 'a'], ['ex', 'ices'], ['ix', 'ices'], ['', ''],
];

/** The plain names that a collection of these can have: `category` is in categories, `person` in people. */
export function pluralsOf(stem: string): string[] {
  const plain = plainName(stem);
  return PLURALS.filter(([end]) => plain.endsWith(end)).map(
    ([end, plural]) => plain.slice(0, plain.length - end.length) + plural,
  );
}

/** Whether a field is named as the ids of a collection's records: `_id`, or `artistId` in artists and in legacy_artists. */
export function isNamedAsId(field: string, collection: string): boolean {
  const stem = stemOf(field);
  if (stem === undefined) return /^_?id$/i.test(field);
  return pluralsOf(stem).includes(plainName(collection.replace(/^legacy_/, '')));
}

/**
 * The field that holds the old id of a record with these fields: `id`, or without it one that is named as id and is not
 * declared. undefined: there is none, or the collection does not store old ids.
 */
export function oldIdField(
  fields: readonly string[],
  { name, schema: { properties } }: Resource,
): string | undefined {
  if (fields.includes('id')) return 'id';
  if (!Object.hasOwn(properties, LEGACY_ID)) return undefined;
  return fields.find((field) => !Object.hasOwn(properties, field) && isNamedAsId(field, name));
}
