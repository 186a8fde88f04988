import { accessFaults } from './access-faults.js';
import { PATH_RULES } from './collection-rules.js';
import { CREDENTIAL_RULES } from './credential-rules.js';
import type { DeclarationFault } from './declaration.js';
import { KEYWORD_RULES } from './keyword-rules.js';
import { type Place, placesIn } from './places.js';
import { DeclarationError, type Declarations, SIGN_IN_FILE } from './read-declarations.js';
import { type Fault, faultsAt } from './rule.js';
import { type SchemaFiles, schemaFiles } from './schema-files.js';

/** Faults of files. A rule has one fault at a place, also if several ways lead there. */
export class FaultList {
  readonly #found = new Map<string, DeclarationFault>();
  readonly #rules = new Map<unknown, number>();

  constructor(readonly files: SchemaFiles) {}

  add(file: string, pointer: string, faults: Iterable<Fault>): void {
    for (const { rule, pointer: below, reason } of faults) {
      const id = this.#rules.get(rule) ?? this.#rules.size;
      this.#rules.set(rule, id);
      const fault = { file: this.files.pathOf(file), pointer: pointer + below, reason };
      this.#found.set(`${id} ${file}#${fault.pointer}`, fault);
    }
  }

  values(): DeclarationFault[] {
    return [...this.#found.values()];
  }
}

/** Walks through all schemas. Adds the faults that would leave a value unprotected which a declaration seems to protect. */
export function addProtectionFaults(
  { collections, shared }: Declarations,
  found: FaultList,
  otherFaults?: (place: Place) => Iterable<Fault>,
): void {
  const files = collections.map(({ name }) => `${name}.json`);
  for (const place of placesIn(found.files, files, [...shared.keys()])) {
    found.add(place.file, place.pointer, faultsAt(place, KEYWORD_RULES));
    if (otherFaults) found.add(place.file, place.pointer, otherFaults(place));
  }
  for (const { name, schema: record } of collections) {
    const place = { name, record, schema: found.files.root(`${name}.json`).schema, collections };
    found.add(`${name}.json`, '', faultsAt(place, PATH_RULES));
    if (`${name}.json` === SIGN_IN_FILE) found.add(SIGN_IN_FILE, '', faultsAt(place, CREDENTIAL_RULES));
  }
}

/** Throws DeclarationError. The check takes little time, so that every start makes it. */
export function requireProtection(declarations: Declarations): void {
  const found = new FaultList(schemaFiles(declarations.collections, declarations.shared));
  addProtectionFaults(declarations, found);
  const faults = [...found.values(), ...accessFaults(declarations.collections)];
  if (faults.length > 0) throw new DeclarationError(faults);
}
