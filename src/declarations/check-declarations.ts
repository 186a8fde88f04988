import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { escapeToken, isObject, type Json, type JsonObject } from '../json.js';
import { createAjv } from '../validation/ajv.js';
import { automatonOf } from '../validation/automaton.js';
import { useAutomata } from '../validation/pattern.js';
import { compiled } from '../validation/require-valid.js';
import { accessFaults } from './access-faults.js';
import { schemaText } from './built-in.js';
import { COLLECTION_RULES, NAME_RULES } from './collection-rules.js';
import type { Declaration, DeclarationFault, DeclaredSchema } from './declaration.js';
import { inPlace } from './field-keywords.js';
import { FIELD_RULES, fieldPlaces, ID_RULES } from './field-rules.js';
import { addProtectionFaults, FaultList } from './protection-faults.js';
import { DeclarationError, type Declarations, type ReadFolder, readFolder } from './read-declarations.js';
import { faultsAt } from './rule.js';
import { addFile, baseOf, type SchemaFiles, schemaFiles } from './schema-files.js';
import { ambiguousAnchors, SCHEMA_RULES } from './schema-rules.js';
import { SET_RULES } from './set-rules.js';
import { faultsOf } from './validation-faults.js';

useAutomata(automatonOf);

/** Reads the declarations in a folder and checks them. Throws DeclarationError with every fault of every file. */
export function readChecked(
  folder: string | undefined,
  base: string,
  ownPaths: ReadonlySet<string>,
): Declarations {
  return checkFolder(readFolder(folder, base), ownPaths);
}

/** Checks what was read of a folder. Throws DeclarationError with every fault of every file. */
export function checkFolder(
  { declarations, faults, unreadable }: ReadFolder,
  ownPaths: ReadonlySet<string>,
): Declarations {
  const all = [...faults, ...faultsIn({ ...declarations, ownPaths }, unreadable)];
  if (all.length > 0) throw new DeclarationError(all);
  return declarations;
}

/** Checks declarations with everything that can be wrong in them. Throws DeclarationError with every fault. */
export function checkDeclarations(declarations: Declarations): void {
  const faults = faultsIn(declarations);
  if (faults.length > 0) throw new DeclarationError(faults);
}

/** Whether a collection may have this name in a service with these paths. */
export const isNameAvailable = (name: string, ownPaths: ReadonlySet<string>): boolean =>
  [...faultsAt({ name, ownPaths, schema: {} }, NAME_RULES)].length === 0;

/** `unreadable`: names of collections that are declared as well, in files with faults of their own. */
function faultsIn(declarations: Declarations, unreadable: readonly string[] = []): DeclarationFault[] {
  const { collections, shared, ownPaths } = declarations;
  const names = [...collections.map(({ name }) => name), ...unreadable];
  const files = schemaFiles(collections, shared);
  const strict = createAjv({ formats: formats.default });
  const lenient = createAjv({ formats: formats.default, isStrict: false });
  const first = createAjv({ formats: formats.default, allErrors: false });
  const forms = [...collections.flatMap(formFaults), ...[...shared].flatMap(sharedFaults)];
  const own = collections.map(({ name, schema }): [string, object] => [`${name}.json`, schema]);
  const unknown = [...shared, ...own].flatMap(([name, schema]) =>
    attempt(files.pathOf(name), () => {
      for (const each of [strict, lenient, first]) addFile(each, name, schema);
    }),
  );
  const found = new FaultList(files);
  const ambiguous = new Set(
    collections.flatMap(({ name }) => ambiguousAnchors(files.root(`${name}.json`), files)),
  );
  const validators = { strict, lenient, ambiguous };
  addProtectionFaults(declarations, found, (place) => faultsAt({ ...place, ...validators }, SCHEMA_RULES));
  const sound = collections.map((each) => ({ ...each, schema: soundPart(each, forms, files) }));
  for (const { name, schema: record } of sound) {
    const place = { name, record, schema: record as never, collections: sound, ownPaths };
    found.add(`${name}.json`, '', faultsAt(place, [...NAME_RULES, ...COLLECTION_RULES]));
    for (const field of fieldPlaces(record, names)) {
      const at = `/properties/${escapeToken(field.name)}`;
      found.add(`${name}.json`, at, faultsAt(field, [...FIELD_RULES, ...SET_RULES]));
      const { reference } = field;
      const id = { ...field, schema: reference?.id as JsonObject };
      if (reference) found.add(`${name}.json`, at + reference.at, faultsAt(id, ID_RULES));
    }
  }
  // A reference may lead to a file that could not be read.
  const known = found.values().filter(({ reason }) => unreadable.length === 0 || !isUnresolved(reason));
  const faults = [...forms, ...known, ...accessFaults(collections)];
  // An identifier that the library does not accept has a fault of its own, mostly.
  faults.push(...unknown.filter(({ file }) => !faults.some((each) => each.file === file)));
  if (faults.length + unreadable.length > 0) return faults;
  return collections.flatMap(({ name, file }) =>
    attempt(file, () => {
      for (const each of [strict, first]) compiled(() => each.getSchema(baseOf(`${name}.json`))!);
    }),
  );
}

const isUnresolved = (reason: string): boolean => reason.startsWith("can't resolve");

/** The part of a declaration whose keywords have the right types, with all fields that each record must have. */
function soundPart(
  { name, file, schema }: Declaration,
  faults: readonly DeclarationFault[],
  files: SchemaFiles,
): DeclaredSchema {
  const pointers = faults.filter((each) => each.file === file).map(({ pointer }) => `${pointer}/`);
  const isSound = (at: string) => !pointers.some((each) => each.startsWith(at));
  const { properties, required: _, 'x-collection': options, ...rest } = schema;
  const fields = isObject(properties as unknown as Json) ? Object.entries(properties) : [];
  const required = inPlace(files.root(`${name}.json`), files).flatMap((each) => each.schema.required ?? []);
  return {
    ...rest,
    properties: Object.fromEntries(fields.filter(([field]) => isSound(`/properties/${escapeToken(field)}/`))),
    required: [...new Set(required.filter((each) => typeof each === 'string'))],
    ...(options && isSound('/x-collection/') ? { 'x-collection': options } : {}),
  };
}

const metaAjv = new Ajv2020({ allErrors: true, strict: false });
let validateForm: ReturnType<Ajv2020['compile']> | undefined;

/** The faults that the schema of declarations finds. */
function formFaults({ file, schema }: Declaration): DeclarationFault[] {
  validateForm ??= metaAjv.compile(JSON.parse(schemaText('collection')));
  return validateForm(schema) ? [] : faultsOf(file, validateForm.errors ?? []);
}

/** The faults of a file that has definitions only. */
function sharedFaults([file, schema]: readonly [string, object]): DeclarationFault[] {
  return metaAjv.validateSchema(schema) ? [] : faultsOf(file, metaAjv.errors ?? []);
}

/** The error of what a library does with a file. */
function attempt(file: string, action: () => unknown): DeclarationFault[] {
  try {
    action();
    return [];
  } catch (error) {
    return [{ file, pointer: '', reason: (error as Error).message }];
  }
}
