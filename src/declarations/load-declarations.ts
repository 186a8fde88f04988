import type { Ajv2020 } from 'ajv/dist/2020.js';
import type { Resource } from '../collection/resource.js';
import { type Config, ownPathsOf } from '../config/config.js';
import { isObject, type JsonObject } from '../json.js';
import type { PasswordRules } from '../passwords/common-password.js';
import { createAjv, loadFormats } from '../validation/ajv.js';
import { comparisonsOf } from '../validation/linear-patterns.js';
import { loadAutomata } from '../validation/pattern.js';
import { declarationFaults } from './declaration-faults.js';
import { type Declarations, readFolder, readSqlFiles } from './read-declarations.js';
import { type ResourceOptions, resourcesWithoutRefs } from './resource-of.js';
import { addFile, baseOf, SchemaFiles, type SchemaNode, withSubschemas } from './schema-files.js';

/** Formats that need a library: all but those of the service itself. */
const LIBRARY_FORMATS = /"format":"(?!(?:email|password-hash|date|time|date-time|duration)")/;

/**
 * Reads the declarations and the SQL files, and loads what their schemas need. `changed`: texts in place of those of files. Throws
 * DeclarationError.
 */
export async function loadDeclarations(
  config: Pick<Config, 'collections' | 'folder' | 'dataChanges' | 'features' | keyof PasswordRules>,
  changed?: ReadonlyMap<string, string>,
): Promise<Declarations> {
  const { collections, folder, dataChanges, passwordWords, breachedPasswords, publicUrl } = config;
  const passwordRules = { passwordWords, breachedPasswords, publicUrl };
  const { faults, ...read } = readFolder(collections, folder, changed);
  const loaded = { ...read, ownPaths: ownPathsOf(config), passwordRules };
  if (LIBRARY_FORMATS.test(JSON.stringify([loaded.collections, [...loaded.shared.values()]])))
    await loadFormats();
  const files = new SchemaFiles(loaded.collections, loaded.shared);
  if ([...files.nodes()].flatMap(patternsOf).some((each) => comparisonsOf(each) === undefined))
    await loadAutomata();
  // Loaded on demand: a start with known declarations takes less time without the rules that need validators.
  if (faults.length > 0 || declarationFaults(loaded, files).length > 0)
    (await import('./check-declarations.js')).checkDeclarations({ ...loaded, faults });
  return dataChanges === undefined ? loaded : { ...loaded, sqlFiles: readSqlFiles(dataChanges, folder) };
}

function patternsOf({ schema: { pattern, patternProperties } }: SchemaNode): string[] {
  return [
    ...(typeof pattern === 'string' ? [pattern] : []),
    ...(isObject(patternProperties) ? Object.keys(patternProperties) : []),
  ];
}

const withoutAnchors = ({ $anchor: _, ...schema }: JsonObject): JsonObject =>
  withSubschemas(schema, withoutAnchors);

/** The collections of valid declarations. Those whose schemas refer to others share a validator. */
export function resourcesOf(
  { collections, shared, passwordRules }: Declarations,
  place: ResourceOptions = {},
): Resource[] {
  const validators = new Map<boolean, Ajv2020>();
  const validator = (allErrors: boolean): Ajv2020 => {
    const known = validators.get(allErrors);
    if (known) return known;
    const ajv = createAjv({ allErrors });
    validators.set(allErrors, ajv);
    for (const [name, schema] of shared) addFile(ajv, name, schema);
    for (const { name, schema } of collections) addFile(ajv, `${name}.json`, schema);
    return ajv;
  };
  const compile = (schema: object, allErrors: boolean) =>
    validator(allErrors).compile<JsonObject>(withoutAnchors(schema as JsonObject));
  const referred = new Map(collections.map((each) => [each.name, each.referred]));
  return resourcesWithoutRefs(collections, { ...place, passwordRules }).map((resource) =>
    JSON.stringify(resource.schema).includes('"$ref"')
      ? {
          ...resource,
          // The collection's own copy of the schema has another base, which must not be that of the copy to which others
          // refer. So it is compiled without anchors, which are those of that copy.
          schema: { ...resource.schema, $id: baseOf(`${resource.name}.json#record`) },
          referred: { compile, schemas: referred.get(resource.name) ?? [] },
        }
      : resource,
  );
}
