import type { Principal } from '../auth/principal.js';
import { RANK, type Resource } from '../collection/resource.js';
import { limitRelations, type Related, relatedOf } from '../list/relations.js';
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

/** A collection as a caller may know it, with the fields that the caller may set in new records and in present ones; undefined: all. */
export interface CallersPart {
  readonly readable: Resource;
  readonly creatable: Fields;
  readonly changeable: Fields;
}

/** `resources` are all collections. */
export const callersPart = (
  resource: Resource,
  resources: readonly Resource[],
  caller: Principal,
): CallersPart => ({
  readable: readablePart(resource, resources, caller),
  creatable: settableFields(resource, 'create', caller),
  changeable: settableFields(resource, 'update', caller),
});

/**
 * The fields in the body of a replacement; undefined: all. A caller repeats the fields that it may read, also those that it may not
 * set. `creates`: the request creates the record if there is none.
 */
export function replaceableFields(
  { readable, creatable, changeable }: CallersPart,
  creates: boolean,
): Fields {
  if (!changeable || (creates && !creatable)) return undefined;
  const known = Object.keys(readable.schema.properties);
  return new Set([...changeable, ...known, ...((creates && creatable) || [])]);
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
