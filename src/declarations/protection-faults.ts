import { accessFaults } from './access-faults.js';
import { credentialFaults } from './credential-faults.js';
import type { DeclarationFault } from './declaration.js';
import { keywordFaults } from './keyword-faults.js';
import { DeclarationError, type Declarations } from './read-declarations.js';

/** The faults that would leave a value unprotected which a declaration seems to protect. */
export const protectionFaults = (declarations: Declarations): DeclarationFault[] => [
  ...credentialFaults(declarations.collections),
  ...keywordFaults(declarations),
  ...accessFaults(declarations.collections),
  ...pathFaults(declarations),
];

/** The list of a collection called history, below records whose own history is at its path. */
function pathFaults({ collections }: Declarations): DeclarationFault[] {
  const nested = collections.find(({ name }) => name === 'history');
  const by = nested?.schema['x-collection']?.nested;
  if (!nested || !by) return [];
  const references = Object.entries(nested.schema.properties ?? {}).flatMap(([field, rules]) => {
    const to = rules?.['x-references'];
    return to !== undefined && (by === true || by === field) ? [to] : [];
  });
  const parent = collections.find(({ name }) => name === references[0]);
  if (!parent?.schema['x-collection']?.history) return [];
  const reason = `/${parent.name}/<id>/history has the changes of the record: see history`;
  return [{ file: nested.file, pointer: '/x-collection/nested', reason }];
}

/** Throws DeclarationError. The check takes little time, so that every start makes it. */
export function requireProtection(declarations: Declarations): void {
  const faults = protectionFaults(declarations);
  if (faults.length > 0) throw new DeclarationError(faults);
}
