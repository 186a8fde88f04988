import type { Declaration } from './declaration.js';

/** Names with the former names that they declare. */
export type Names = readonly { readonly name: string; readonly was: string | undefined }[];

/** Why no migration can carry out a former name of a field or of a collection: it would pass over it in silence. */
export function formerNameFault({ name, was }: Names[number], names: Names): string | undefined {
  if (was === undefined) return undefined;
  if (was === name) return 'is the present name, too';
  const other = names.find((each) => each.was === was)!;
  if (other.name !== name) return `is the former name of ${other.name}, too`;
  // Each name is followed once: another cycle, which does not lead back here, has faults of its own.
  const former = new Map(names.map((each) => [each.name, each.was]));
  const seen = new Set<string>();
  for (let at: string | undefined = was; at !== undefined && !seen.has(at); at = former.get(at)) {
    if (at === name) return 'leads back to the present name: exchange names by an SQL file in DATA_CHANGES';
    seen.add(at);
  }
  return undefined;
}

/**
 * Why a migration would pass over the former name of a field or a collection, or take the content of one that remains. `applied`:
 * the names that the database has, with their former names.
 */
export function appliedNameFault(
  kind: 'field' | 'collection',
  { name, was }: Names[number],
  names: Names,
  applied: ReadonlyMap<string, string | undefined>,
): string | undefined {
  if (was === undefined) return undefined;
  if (applied.has(name)) {
    // Such a rename was carried out, or was stated in vain, before.
    const isKnown = kind === 'collection' || !applied.has(was) || applied.get(name) === was;
    return isKnown ? undefined : `has no effect: the database has both ${was} and ${name}`;
  }
  if (applied.has(was)) {
    const remaining = names.find((each) => each.name === was);
    const content = kind === 'field' ? 'values' : 'records';
    return remaining && (kind === 'collection' || remaining.was === undefined)
      ? `would take the ${content} of ${was}, which is declared, too`
      : undefined;
  }
  // A former name that never existed is a fault if at the same time other names vanish, since one of them may be meant.
  const vanished = [...applied.keys()].filter(
    (each) => !names.some((of) => each === of.name || each === of.was),
  );
  return vanished.length > 0
    ? `the database has no ${kind} ${was}, and ${vanished.join(', ')} would no longer be declared`
    : undefined;
}

/** The fields of a declaration with their former names. */
export const fieldNames = ({ properties }: Declaration['schema']): Names =>
  Object.entries(properties).map(([name, { 'x-was': was }]) => ({ name, was }));

/** The collections with their former names. */
export const collectionNames = (declarations: readonly Pick<Declaration, 'name' | 'schema'>[]): Names =>
  declarations.map(({ name, schema }) => ({ name, was: schema['x-collection']?.was }));
