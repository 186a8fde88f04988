import { RANK, type Resource } from '../collection/resource.js';
import { limitRelations, type Related, relatedOf } from '../list/relations.js';
import type { Principal } from '../principal.js';
import { type Fields, fieldsOf, readableFields } from './fields.js';
import { grantsFor, mayRead, readsAll } from './rules.js';

/**
 * A collection as a caller may know it: without the fields that access rules show to the caller of no record, and without relations
 * by such fields or to collections of which the caller may read nothing. `resources` are all collections.
 */
export function readablePart(
  resource: Resource,
  resources: readonly Resource[],
  principal: Principal,
): Resource {
  const fields = readableFields(resource, principal);
  const isShown = shownBy(resource, fields);
  const { schema, sorts, words } = resource;
  const shownWords = words.filter(isShown);
  const isSort = (name: string) => (sorts.get(name) === RANK ? shownWords.length > 0 : isShown(name));
  const part: Resource = {
    ...resource,
    schema: { ...schema, properties: withMembers(schema.properties, isShown) },
    filterable: resource.filterable.filter(isShown),
    sortable: resource.sortable.filter(isShown),
    sorts: new Map([...sorts].filter(([name]) => isSort(name))),
    searchable: resource.searchable.filter(isShown),
    words: shownWords,
    // Lists have no order by members of which the caller may read some alone.
    references: resource.references.map((reference) => {
      const other = resources.find(({ name }) => name === reference.to)!;
      return readsAll(other, principal) ? reference : { ...reference, sorts: [] };
    }),
    unique: resource.unique.filter((key) => key.fields.every(isShown)),
  };
  const isFollowed = ({ collection, field, referring }: Related): boolean => {
    const other = resources.find(({ name }) => name === collection)!;
    // A relation to a collection without access rules needs the scope of all records there.
    if (!(other.isRuled ? mayRead : readsAll)(other, principal)) return false;
    return field === undefined
      ? referring.some(shownBy(other, readableFields(other, principal)))
      : isShown(field);
  };
  // The name of a relation follows from all relations.
  limitRelations(part, relatedOf(resource).filter(isFollowed));
  return part;
}

/** The declared fields that a caller may set in new records, or in present ones; undefined: all. */
export const settableFields = (
  resource: Resource,
  verb: 'create' | 'update',
  principal: Principal,
): Fields => (resource.isRuled ? fieldsOf(grantsFor(resource, verb, resource, principal)) : undefined);

const shownBy =
  ({ schema }: Resource, fields: Fields) =>
  (name: string): boolean =>
    !fields || fields.has(name) || !Object.hasOwn(schema.properties, name);

/** The members of an object whose names are accepted. */
const withMembers = <T extends object>(given: T, isAccepted: (name: string) => boolean): T =>
  Object.fromEntries(Object.entries(given).filter(([name]) => isAccepted(name))) as T;
