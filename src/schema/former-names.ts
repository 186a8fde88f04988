import type { Declaration, DeclarationFault, DeclaredField } from '../declarations/declaration.js';
import { declaredReference } from '../declarations/declared-reference.js';
import {
  appliedNameFault,
  collectionNames,
  fieldNames,
  type Names,
} from '../declarations/former-name-faults.js';
import { DeclarationError } from '../declarations/read-declarations.js';
import { escapeToken } from '../json.js';
import type { Catalog } from './catalog.js';
import { isCollection } from './occupied.js';

/** Throws DeclarationError for former names that the applied declarations contradict. */
export function requireFormerNames(declarations: readonly Declaration[], catalog: Catalog): void {
  const stored = new Map([...catalog.applied].filter(([name]) => isCollection(name, catalog)));
  const applied = new Map([...stored.keys()].map((name) => [name, undefined] as const));
  const collections = collectionNames(declarations);
  const faults = declarations.flatMap(({ file, schema }, at): DeclarationFault[] => {
    const { name, was } = collections[at]!;
    const before = stored.get(name) ?? catalog.applied.get(was ?? '');
    const ofCollection = appliedNameFault('collection', collections[at]!, collections, applied);
    const fields = fieldNames(schema);
    const former =
      before === undefined ? undefined : namesOf(fieldNames(JSON.parse(before) as typeof schema));
    return [
      ...(former ? fields : []).map(
        (each) =>
          [
            `/properties/${escapeToken(each.name)}/x-was`,
            appliedNameFault('field', each, fields, former!),
          ] as const,
      ),
      ['/x-collection/was', ofCollection] as const,
    ].flatMap(([pointer, reason]) => (reason === undefined ? [] : [{ file, pointer, reason }]));
  });
  if (faults.length > 0) throw new DeclarationError(faults);
}

const namesOf = (names: Names) => new Map(names.map(({ name, was }) => [name, was]));

/** Former declarations whose references still lead somewhere; the others cannot be turned into resources. */
export function known(declarations: readonly Declaration[]): Declaration[] {
  const names = new Set(declarations.map(({ name }) => name));
  const isKnown = (field: DeclaredField) => {
    const reference = declaredReference(field);
    return reference === undefined || names.has(reference.to);
  };
  return declarations.filter(({ schema }) => Object.values(schema.properties).every(isKnown));
}
