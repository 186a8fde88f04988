import type { Resource } from '../collection/resource.js';
import { invalidQuery } from '../errors/input-errors.js';
import { writeOnlyNames } from '../validation/validation.js';
import { listIn, unescapeName } from './query-names.js';

const MAX_FIELDS = 50;
const MAX_INCLUDES = 5;

/** The query parameters of one record. */
export const RECORD_PARAMETERS = ['fields', 'include'] as const;

/** The part of each record that a request asks for. */
export interface View {
  /** Undefined: all fields. */
  readonly fields: readonly string[] | undefined;
  /** The names of the relations whose records are included. */
  readonly include: readonly string[];
}

/** Records as they are stored. */
export const WHOLE: View = { fields: undefined, include: [] };

/** Whether records are shown as they are stored. */
export const isWhole = ({ fields, include }: View): boolean => fields === undefined && include.length === 0;

/** Reads `fields` and `include`. Throws 400 for anything invalid. */
export function readView(given: URLSearchParams, resource: Resource): View {
  return {
    fields: readFields(listIn(given, 'fields'), resource),
    include: readInclude(listIn(given, 'include'), resource),
  };
}

const OWN_FIELDS = ['id', 'created_at', 'updated_at', '_version'];

/** Declared fields, unless others are permitted as well. */
function readFields(given: readonly string[] | undefined, { schema }: Resource): string[] | undefined {
  if (given === undefined) return undefined;
  const names = given.filter((name) => name !== '').map(unescapeName);
  if (names.length > MAX_FIELDS) throw invalidQuery('fields', `has more than ${MAX_FIELDS} fields`);
  const hidden = new Set(writeOnlyNames(schema));
  const valid = [...OWN_FIELDS, ...Object.keys(schema.properties).filter((name) => !hidden.has(name))];
  const unknown = names.find((name) => !valid.includes(name));
  if (unknown !== undefined && (schema.additionalProperties === false || hidden.has(unknown)))
    throw invalidQuery('fields', `names an unknown field, ${unknown}: there are ${valid.join(', ')}`);
  return names;
}

/** Records that are related to those of a collection. */
export interface Related {
  readonly name: string;
  readonly collection: string;
  /** The field that refers to the other collection; undefined: fields of the other one refer to this one. */
  readonly field: string | undefined;
  /** The fields of the other collection that refer to this one; empty: `field` refers to the other one. */
  readonly referring: readonly string[];
}

/** The name of a reference: its field without `Id`. */
export const relationName = (field: string): string => field.replace(/(?<=.)(Id|_id)$/, '');

/**
 * The relations of a collection. A reference is called as its field without `Id`, or as a whole if another relation has that
 * name. Records that refer to one are called as their collection, or if a field has that name, also as their references.
 */
export function relatedOf({ references, referredBy }: Resource): Related[] {
  const collections = [...new Set(referredBy.map(({ collection }) => collection))];
  const short = references.map(({ field }) => relationName(field));
  const isFree = (name: string) =>
    !collections.includes(name) && short.filter((each) => each === name).length === 1;
  const own = references.map(({ field, to }, index): Related => {
    const name = isFree(short[index]!) ? short[index]! : field;
    return { name, collection: to, field, referring: [] };
  });
  const others = collections.map((collection): Related => {
    const referring = referredBy.filter((each) => each.collection === collection).map(({ field }) => field);
    const isInUse = own.some(({ name }) => name === collection);
    const name = isInUse ? `${collection} by ${referring.join(', ')}` : collection;
    return { name, collection, field: undefined, referring };
  });
  return [...own, ...others];
}

export const relationsOf = (resource: Resource): string[] => relatedOf(resource).map(({ name }) => name);

function readInclude(given: readonly string[] | undefined, resource: Resource): string[] {
  if (given === undefined) return [];
  const names = [...new Set(given.filter((name) => name !== '').map(unescapeName))];
  if (names.length > MAX_INCLUDES) throw invalidQuery('include', `has more than ${MAX_INCLUDES} names`);
  const valid = relationsOf(resource);
  const unknown = names.find((name) => !valid.includes(name));
  if (unknown !== undefined)
    throw invalidQuery(
      'include',
      `names no relation, ${unknown}: there are ${valid.length === 0 ? 'none' : valid.join(', ')}`,
    );
  return names;
}
