import type { Declaration } from '../declarations/declaration.js';
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
