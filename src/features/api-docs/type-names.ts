import type { Principal } from '../../auth/principal.js';
import type { Resource } from '../../collection/resource.js';
import { SchemaFiles, type SchemaNode } from '../../declarations/schema-files.js';
import { type Related, relatedOf } from '../../list/relations.js';
import { mayRead, readsAll } from '../../policy/policy.js';

/** A collection with the names of its types in the document. */
export interface DescribedResource extends Resource {
  readonly types: TypeNames;
  /** The relations to collections that the scopes of the reader permit it to read. */
  readonly related: readonly Related[];
}

/** Names of types, each an identifier of programming languages that no other type of the document has. It begins with a letter. */
export interface TypeNames {
  /** Of one record, and of several. */
  readonly one: string;
  readonly many: string;
  /** Of one record of another collection. */
  readonly of: (collection: string) => string;
  /** Of the schema that a reference means; undefined: there is none. `base`: the URI that the reference is relative to. */
  readonly referred: (reference: string, base: string) => string | undefined;
  /** The schemas to which references of the collection lead, with their names. */
  readonly definitions: readonly Definition[];
}

/** A schema to which others refer. */
export interface Definition {
  readonly name: string;
  readonly node: SchemaNode;
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
 * Names the types of collections. The title decides, unless its names are `reserved`: then the name of the collection does, with a
 * number if that is in use as well. Letter case does not distinguish names, since generators write types to files.
 */
export function describedResources(
  {
    resources,
    sharedSchemas,
  }: { readonly resources: readonly Resource[]; readonly sharedSchemas: SharedSchemas },
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
  const files = new SchemaFiles(resources, sharedSchemas);
  const keyOf = ({ file, pointer }: SchemaNode) => `${file}#${pointer}`;
  const names = new Map<string, string>();
  const nameOf = (node: SchemaNode, collection: string): string => {
    const key = keyOf(node);
    const many = records.get(node.file.replace(/\.json$/, ''))?.many;
    const prefix = many ?? typeName(node.file.replace(/\.json$/, ''));
    const last = typeName(node.pointer.slice(node.pointer.lastIndexOf('/') + 1));
    const wanted = /^[a-z]/i.test(prefix)
      ? prefix + last
      : `${records.get(collection)!.many}Definition${last}`;
    const free = (candidate: string) => claim([candidate, `${candidate}Input`]);
    const name = names.get(key) ?? firstFree(wanted, free);
    names.set(key, name);
    return name;
  };
  const definitions = new Map(
    resources.map(({ name }) => [
      name,
      files.referredFrom(files.root(`${name}.json`)).map((node) => ({ name: nameOf(node, name), node })),
    ]),
  );
  const of = (collection: string) => records.get(collection)!.one;
  const referred = (reference: string, base: string) => {
    const node = files.resolve(reference, base);
    return node && names.get(keyOf(node));
  };
  const isReadable = ({ collection }: Related) => {
    const other = resources.find(({ name }) => name === collection)!;
    return (other.hasRules ? mayRead : readsAll)(other, caller);
  };
  return resources.map((resource) => ({
    ...resource,
    related: relatedOf(resource).filter(isReadable),
    types: { ...records.get(resource.name)!, of, referred, definitions: definitions.get(resource.name)! },
  }));
}

type SharedSchemas = ReadonlyMap<string, object>;

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

/** Words as a name of a type: `order line` and `order_lines` are OrderLine and OrderLines. */
export const typeName = (words: string): string =>
  words
    .split(/[^a-zA-Z0-9]/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('');
