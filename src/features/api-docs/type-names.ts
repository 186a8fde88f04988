import { type CallersPart, callersPart } from '../../access/readable-part.js';
import type { Principal } from '../../auth/principal.js';
import type { Resource } from '../../collection/resource.js';
import { isObject, type Json } from '../../json.js';
import { typeName } from './model.js';

/** A collection with the names of its types in the document, and the part of it that the reader of the document may know. */
export interface DescribedResource extends Resource, CallersPart {
  readonly types: TypeNames;
}

/** Names of types, each an identifier of programming languages that no other type of the document has. */
export interface TypeNames {
  /** Of one record, and of several. */
  readonly one: string;
  readonly many: string;
  /** Of one record of another collection. */
  readonly of: (collection: string) => string;
  /** Of a schema in `$defs` of a collection; undefined: there is none. */
  readonly definition: (collection: string, key: string) => string | undefined;
}

/** The words before or after the name of one record in the names of its other types. */
export const derivedNames = (one: string, many: string) => ({
  record: one,
  partial: `Partial${one}`,
  included: `${one}Included`,
  input: `${one}Input`,
  patch: `${one}Patch`,
  page: `${many}Page`,
});

/**
 * Names the types of collections, and describes what a caller may know of these. The title decides, unless its names are `reserved`: then the name of the collection does,
 * with a number if that is in use as well. Letter case does not distinguish names, since generators
 * write types to files.
 */
export function describedResources(
  resources: readonly Resource[],
  reserved: readonly string[],
  caller: Principal,
): DescribedResource[] {
  const used = new Set(reserved.map((name) => name.toLowerCase()));
  const claim = (names: readonly string[]): boolean => {
    const keys = names.map((name) => name.toLowerCase());
    const isFree = keys.every((key) => !used.has(key)) && new Set(keys).size === keys.length;
    if (isFree) for (const key of keys) used.add(key);
    return isFree;
  };
  const records = new Map(resources.map((resource) => [resource.name, recordNames(resource, claim)]));
  const definitions = new Map(
    resources.flatMap(({ name, schema }) =>
      Object.keys(isObject(schema.$defs as Json) ? (schema.$defs as object) : {}).map((key) => [
        `${name} ${key}`,
        firstFree(`${records.get(name)!.many}${typeName(key)}`, (candidate) =>
          claim([candidate, `${candidate}Input`]),
        ),
      ]),
    ),
  );
  const of = (collection: string) => records.get(collection)!.one;
  const definition = (collection: string, key: string) => definitions.get(`${collection} ${key}`);
  return resources.map((resource) => ({
    ...resource,
    types: { ...records.get(resource.name)!, of, definition },
    ...callersPart(resource, resources, caller),
  }));
}

function recordNames(
  { name, singular }: Resource,
  claim: (names: readonly string[]) => boolean,
): { one: string; many: string } {
  const many = typeName(name);
  const claimed = (one: string, several: string) =>
    claim([...Object.values(derivedNames(one, several)), several]);
  const byTitle = typeName(singular);
  if (claimed(byTitle, many)) return { one: byTitle, many };
  for (let count = 1; ; count++) {
    const [one, several] = [`${many}Record${count === 1 ? '' : count}`, `${many}${count === 1 ? '' : count}`];
    if (claimed(one, several)) return { one, many: several };
  }
}

function firstFree(name: string, claim: (name: string) => boolean): string {
  for (let count = 1; ; count++) {
    const candidate = count === 1 ? name : `${name}${count}`;
    if (claim(candidate)) return candidate;
  }
}
