import { perResource, type Resource } from '../collection/resource.js';
import { fieldsUnreadable } from '../errors/caller-errors.js';
import { type Access, OWN_COLUMNS } from './condition.js';

/** The collection of a name, for the conditions and records of a relation. Throws 403 unless the caller may read its records. */
export interface Others {
  (collection: string): Accessible;
  /** The subject for which `$caller` stands in a condition; absent: there is none, and such a condition never holds. */
  readonly subject?: string | undefined;
}

/** A collection as a caller may read it. */
export interface Accessible {
  readonly resource: Resource;
  /** The records and fields that there are for the caller; undefined: all. */
  readonly access?: Access | undefined;
}

/** Throws 403 if the caller may read none of some fields, whatever the record is. A record always has the members that the service adds. */
export function requireFieldAccess({ access }: Accessible, ...names: readonly string[]): void {
  const isReadable = (name: string) =>
    OWN_COLUMNS.has(name) || access!.grants.some(({ fields }) => !fields || fields.includes(name));
  if (access && names.length > 0 && !names.some(isReadable)) throw fieldsUnreadable(names);
}

/** Records that are related to those of a collection. */
export interface Related {
  readonly name: string;
  readonly collection: string;
  /** The field that refers to the other collection; undefined: fields of the other one refer to this one. */
  readonly field: string | undefined;
  /** Whether a record may have several related ones: those that refer to it, or those of an array of references. */
  readonly isMany: boolean;
  /** The fields of the other collection that refer to this one; empty: `field` refers to the other one. */
  readonly referring: readonly string[];
}

/** The name of a reference: its field without `Id`. `watcherIds` of several is `watchers`. */
export const relationName = (field: string, isList = false): string =>
  field.replace(isList ? /(?<=.)(Id|_id)(?=s$)/ : /(?<=.)(Id|_id)$/, '');

/**
 * The relations of a collection. A reference is called as its field without `Id`, or as a whole if another relation has that
 * name; an array of references as its field, in which `Ids` is the plural. Records that refer to one are called as their collection, or if a field has that name, also as their references.
 */
export const relatedOf = perResource(({ references, referredBy }): readonly Related[] => {
  const collections = [...new Set(referredBy.map(({ collection }) => collection))];
  const short = references.map(({ field, isList }) => relationName(field, isList));
  const isFree = (name: string) =>
    !collections.includes(name) && short.filter((each) => each === name).length === 1;
  const own = references.map(({ field, to, isList }, index): Related => {
    const name = isFree(short[index]!) ? short[index]! : field;
    return { name, collection: to, field, isMany: isList, referring: [] };
  });
  const others = collections.map((collection): Related => {
    const referring = referredBy.filter((each) => each.collection === collection).map(({ field }) => field);
    const isInUse = own.some(({ name }) => name === collection);
    const name = isInUse ? `${collection} by ${referring.join(', ')}` : collection;
    return { name, collection, field: undefined, isMany: true, referring };
  });
  return [...own, ...others];
});

export const relationsOf = (resource: Resource): string[] => relatedOf(resource).map(({ name }) => name);
