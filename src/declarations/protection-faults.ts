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
];

/** Throws DeclarationError. The check takes little time, so that every start makes it. */
export function requireProtection(declarations: Declarations): void {
  const faults = protectionFaults(declarations);
  if (faults.length > 0) throw new DeclarationError(faults);
}
