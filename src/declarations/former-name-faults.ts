import { escapeToken } from '../json.js';
import type { Declaration, DeclarationFault } from './declaration.js';

/** Names with the former names that they declare. */
type Names = readonly { readonly name: string; readonly was: string | undefined }[];

const COLLECTION = '/x-collection/was';
const pointerTo = (field: string): string => `/properties/${escapeToken(field)}/x-was`;

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
 * Former names of fields that the applied declaration contradicts: the migration would pass over them, or take the values of a
 * field that remains.
 */
export function appliedFieldFaults(
  { file, schema }: Declaration,
  { properties: applied }: Declaration['schema'],
): DeclarationFault[] {
  const { properties } = schema;
  const former = Object.values(properties).map(({ 'x-was': was }) => was);
  const vanished = Object.keys(applied).filter(
    (field) => !Object.hasOwn(properties, field) && !former.includes(field),
  );
  return Object.entries(properties).flatMap(([name, { 'x-was': was }]) => {
    const hasWas = was !== undefined && Object.hasOwn(applied, was);
    // Such a rename was carried out, or was stated in vain, before.
    if (was === undefined || (Object.hasOwn(applied, name) && (!hasWas || applied[name]!['x-was'] === was)))
      return [];
    const reason = Object.hasOwn(applied, name)
      ? `has no effect: the database has both ${was} and ${name}`
      : hasWas
        ? remains(was, properties)
        : unknown(was, vanished, 'field');
    return reason === undefined ? [] : [{ file, pointer: pointerTo(name), reason }];
  });
}

/** The field stays, under its name, beside the one that takes its values. */
const remains = (was: string, properties: Declaration['schema']['properties']): string | undefined =>
  Object.hasOwn(properties, was) && properties[was]!['x-was'] === undefined
    ? `would take the values of ${was}, which is declared, too`
    : undefined;

/** A former name that never existed is a fault if at the same time other names vanish, since one of them may be meant. */
const unknown = (was: string, vanished: readonly string[], kind: string): string | undefined =>
  vanished.length > 0
    ? `the database has no ${kind} ${was}, and ${vanished.join(', ')} would no longer be declared`
    : undefined;

/** Former names of collections that the applied declarations contradict. `isStored`: whether a collection has a table. */
export function appliedCollectionFaults(
  declarations: readonly Declaration[],
  applied: ReadonlySet<string>,
  isStored: (name: string) => boolean,
): DeclarationFault[] {
  const names = new Set(declarations.map(({ name }) => name));
  const former = declarations.map(({ schema }) => schema['x-collection']?.was);
  const vanished = [...applied].filter(
    (name) => isStored(name) && !names.has(name) && !former.includes(name),
  );
  return declarations.flatMap(({ name, file, schema }) => {
    const was = schema['x-collection']?.was;
    if (was === undefined || isStored(name)) return [];
    const reason = !isStored(was)
      ? unknown(was, vanished, 'collection')
      : names.has(was)
        ? `would take the records of ${was}, which is declared, too`
        : undefined;
    return reason === undefined ? [] : [{ file, pointer: COLLECTION, reason }];
  });
}
