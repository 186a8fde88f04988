import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { escapeToken, isObject, type Json } from '../json.js';
import { createAjv } from '../validation/ajv.js';
import { declarationSchema } from './built-in.js';
import type { Declaration, DeclarationFault } from './declaration.js';
import { defaultFaults } from './default-faults.js';
import { fieldFaults } from './field-faults.js';
import { inPlace } from './field-keywords.js';
import { formerNameFaults } from './former-name-faults.js';
import { identifierFaults } from './identifier-faults.js';
import { idleFaults } from './idle-faults.js';
import { protectionFaults } from './protection-faults.js';
import { DeclarationError, type Declarations, readFolder } from './read-declarations.js';
import { requiredBy, schemaFaults } from './schema-faults.js';
import { baseOf, SchemaFiles } from './schema-files.js';
import { faultsOf } from './validation-faults.js';

/** Reads the declarations in a folder and checks them. Throws DeclarationError with every fault of every file. */
export function readChecked(
  folder: string | undefined,
  base: string,
  ownPaths: ReadonlySet<string>,
): Declarations {
  const { declarations, faults, unreadable } = readFolder(folder, base);
  const all = [...faults, ...faultsIn({ ...declarations, ownPaths }, unreadable)];
  if (all.length > 0) throw new DeclarationError(all);
  return declarations;
}

/** Checks declarations with everything that can be wrong in them. Throws DeclarationError with every fault. */
export function checkDeclarations(declarations: Declarations): void {
  const faults = faultsIn(declarations);
  if (faults.length > 0) throw new DeclarationError(faults);
}

/** `unreadable`: names of collections that are declared as well, in files with faults of their own. */
function faultsIn(declarations: Declarations, unreadable: readonly string[] = []): DeclarationFault[] {
  const { collections, shared, ownPaths } = declarations;
  const names = [...collections.map(({ name }) => name), ...unreadable];
  const files = new SchemaFiles([
    ...collections.map(({ name, schema }): [string, object] => [`${name}.json`, schema]),
    ...shared,
  ]);
  const checked = collections.map((declaration) => {
    const found = metaFaults(declaration);
    return { declaration, found, sound: without(declaration, found, requiredIn(declaration, files)) };
  });
  const faults = checked.flatMap(({ declaration, found, sound }) => [
    ...nameFaults(declaration, ownPaths),
    ...found,
    ...fieldFaults(sound, names),
  ]);
  faults.push(...formerNameFaults(checked.map(({ sound }) => sound)), ...idleFaults(declarations));
  faults.push(...[...shared].flatMap(sharedFaults), ...protectionFaults(declarations));
  faults.push(...identifierFaults(declarations));
  faults.push(...compileFaults(declarations, faults, unreadable.length > 0));
  const unique = new Map(faults.map((fault) => [`${fault.file}#${fault.pointer} ${fault.reason}`, fault]));
  return [...unique.values()];
}

/** The fields that each record must have, by all schemas that always apply to it. */
const requiredIn = ({ name }: Declaration, files: SchemaFiles): string[] => [
  ...new Set(requiredBy(inPlace(files.root(`${name}.json`), files)).map((each) => each.name)),
];

/** A declaration without the fields whose keywords have a wrong type, on which other checks rely. */
function without(
  declaration: Declaration,
  faults: readonly DeclarationFault[],
  required: readonly string[],
): Declaration {
  const pointers = faults.map(({ pointer }) => `${pointer}/`);
  const isSound = (at: string) => !pointers.some((each) => each.startsWith(at));
  const { properties, required: _, 'x-collection': options, ...rest } = declaration.schema;
  const fields = isObject(properties as unknown as Json) ? Object.entries(properties) : [];
  return {
    ...declaration,
    schema: {
      ...rest,
      properties: Object.fromEntries(fields.filter(([name]) => isSound(`/properties/${escapeToken(name)}/`))),
      required,
      ...(options && isSound('/x-collection/') ? { 'x-collection': options } : {}),
    },
  };
}

const metaAjv = new Ajv2020({ allErrors: true, strict: false });
let validateMeta: ReturnType<Ajv2020['compile']> | undefined;

function metaFaults({ file, schema }: Declaration): DeclarationFault[] {
  validateMeta ??= metaAjv.compile(JSON.parse(declarationSchema()));
  return validateMeta(schema) ? [] : faultsOf(file, validateMeta.errors ?? []);
}

/** The faults of a file that has definitions only. */
function sharedFaults([file, schema]: readonly [string, object]): DeclarationFault[] {
  return metaAjv.validateSchema(schema) ? [] : faultsOf(file, metaAjv.errors ?? []);
}

/** Whether a collection may have this name in a service with these paths. */
export const isNameAvailable = (name: string, ownPaths: ReadonlySet<string>): boolean =>
  nameFaults({ name, file: '' }, ownPaths).length === 0;

function nameFaults(
  { name, file }: Pick<Declaration, 'name' | 'file'>,
  ownPaths: ReadonlySet<string> | undefined,
): DeclarationFault[] {
  const fault = (reason: string) => [{ file, pointer: '', reason }];
  if (!/^[a-z][a-z0-9_]{0,39}$/.test(name))
    return fault('the name of the file must be that of a collection: a-z, 0-9 and _, up to 40 characters');
  if (ownPaths?.has(name)) return fault(`/${name} is a path of the service itself`);
  if (name.startsWith('pg_')) return fault('PostgreSQL reserves names that begin with pg_');
  return [];
}

/** The faults of schemas, and what else prevents one from being compiled. `isPartial`: a file could not be read. */
function compileFaults(
  declarations: Declarations,
  others: readonly DeclarationFault[],
  isPartial: boolean,
): DeclarationFault[] {
  const { collections, shared } = declarations;
  const ajv = createAjv({ formats: formats.default });
  const lenient = createAjv({ formats: formats.default, isStrict: false });
  const files = [
    ...[...shared].map(([name, schema]) => ({ name, file: name, schema })),
    ...collections.map(({ name, file, schema }) => ({ name: `${name}.json`, file, schema })),
  ];
  const unknown = files.flatMap(({ name, file, schema }) => {
    try {
      for (const each of [ajv, lenient]) each.addSchema({ ...schema, $id: baseOf(name) });
      return [];
    } catch (error) {
      // An identifier in the schema.
      const isKnown = others.some((each) => each.file === file && each.pointer.endsWith('/$id'));
      return isKnown ? [] : [{ file, pointer: '', reason: (error as Error).message }];
    }
  });
  const found = [...unknown, ...schemaFaults(declarations, ajv)];
  // A reference may lead to a file that could not be read.
  const faults = isPartial ? found.filter(({ reason }) => !reason.startsWith("can't resolve")) : found;
  const all = [...others, ...found];
  for (const { name, file, schema } of collections) {
    const isAlone = !/"\$(?:ref|dynamicRef)":/.test(JSON.stringify(schema));
    if (all.some((each) => each.file === file) || ((all.length > 0 || isPartial) && !isAlone)) continue;
    try {
      ajv.getSchema(baseOf(`${name}.json`));
    } catch (error) {
      faults.push({ file, pointer: '', reason: (error as Error).message });
    }
  }
  const isEndless = others.some(({ reason }) => reason.startsWith('leads back to itself'));
  if (isEndless) return faults;
  return [...faults, ...defaultFaults(declarations, lenient)];
}
