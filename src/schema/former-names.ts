import type { Declaration, DeclaredField } from '../declarations/declaration.js';
import { declaredReference } from '../declarations/declared-reference.js';
import { appliedCollectionFaults, appliedFieldFaults } from '../declarations/former-name-faults.js';
import { DeclarationError } from '../declarations/read-declarations.js';
import type { Catalog } from './catalog.js';
import { isCollection } from './occupied.js';

/** Throws DeclarationError for former names that the applied declarations contradict. */
export function requireFormerNames(declarations: readonly Declaration[], catalog: Catalog): void {
  const { applied } = catalog;
  const isStored = (name: string) => applied.has(name) && isCollection(name, catalog);
  const faults = [
    ...declarations.flatMap((declaration) => {
      const { name, schema } = declaration;
      const before = applied.get(isStored(name) ? name : (schema['x-collection']?.was ?? ''));
      return before === undefined
        ? []
        : appliedFieldFaults(declaration, JSON.parse(before) as Declaration['schema']);
    }),
    ...appliedCollectionFaults(declarations, new Set(applied.keys()), isStored),
  ];
  if (faults.length > 0) throw new DeclarationError(faults);
}

/** Former declarations whose references still lead somewhere; the others cannot be turned into resources. */
export function known(declarations: readonly Declaration[]): Declaration[] {
  const names = new Set(declarations.map(({ name }) => name));
  const isKnown = (field: DeclaredField) => {
    const reference = declaredReference(field);
    return reference === undefined || names.has(reference.to);
  };
  return declarations.filter(({ schema }) => Object.values(schema.properties).every(isKnown));
}
