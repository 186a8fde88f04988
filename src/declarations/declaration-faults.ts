import { escapeToken, isObject, type Json } from '../json.js';
import { accessFaults } from './access-faults.js';
import { COLLECTION_RULES, NAME_RULES, signInRules } from './collection-rules.js';
import type { DeclarationFault } from './declaration.js';
import { inPlace } from './field-keywords.js';
import { FIELD_RULES, fieldPlaces } from './field-rules.js';
import { placesIn, type Validators } from './places.js';
import { type Declarations, SIGN_IN_FILE } from './read-declarations.js';
import { type Fault, faultsAt } from './rule.js';
import type { SchemaFiles } from './schema-files.js';
import { SCHEMA_RULES } from './schema-rules.js';

/** The faults of readable declarations, each once, also if several ways lead to it. Without validators, it takes little time. */
export function declarationFaults(
  { collections, ownPaths }: Declarations,
  files: SchemaFiles,
  validators?: Validators,
): DeclarationFault[] {
  const found = new Map<string, DeclarationFault>();
  const add = (name: string, at: string, faults: Iterable<Fault>, from?: string) => {
    for (const { pointer, reason } of faults) {
      const fault = { file: files.pathOf(name), pointer: at + pointer, reason };
      const key = `${name}#${fault.pointer}: ${reason}`;
      if (from !== undefined) fault.reason += `. It is referred to in ${from}`;
      if (!found.has(key)) found.set(key, fault);
    }
  };
  const fileOf = (name: string) => `${name}.json`;
  const names = collections.map(({ name }) => name);
  const reason = 'another schema has the same $id or $anchor';
  for (const { file, pointer } of files.repeated) add(file, '', [{ pointer, reason }]);
  for (const place of placesIn(files, names.map(fileOf)))
    add(place.file, place.pointer, faultsAt({ ...place, validators }, SCHEMA_RULES), place.from);
  for (const { name, schema: record } of collections) {
    const file = fileOf(name);
    const root = files.root(file);
    const place = { name, record, schema: root.schema, collections, ownPaths };
    add(file, '', faultsAt(place, [...NAME_RULES, ...COLLECTION_RULES]));
    if (file === SIGN_IN_FILE) add(file, '', faultsAt(place, signInRules()));
    if (!isObject(record.properties as Json)) continue;
    const required = inPlace(root, files).flatMap(({ schema }) => schema.required ?? []) as string[];
    for (const field of fieldPlaces(record, required, names))
      add(file, `/properties/${escapeToken(field.name)}`, faultsAt(field, FIELD_RULES));
  }
  return [...found.values(), ...accessFaults(collections)];
}
