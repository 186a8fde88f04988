import type { Ajv2020 } from 'ajv/dist/2020.js';
import type { Resource } from '../collection/resource.js';
import { type Config, ownPathsOf } from '../config/config.js';
import { isObject, type JsonObject } from '../json.js';
import { createAjv, loadFormats } from '../validation/ajv.js';
import { comparisonsOf } from '../validation/linear-patterns.js';
import { faultOfPattern, loadAutomata } from '../validation/pattern.js';
import { declaredReference } from './declared-column.js';
import { readSqlFiles } from './operator-sql.js';
import { type Declarations, readFolder } from './read-declarations.js';
import { type ResourceOptions, resourcesWithoutRefs } from './resource-of.js';
import { addFile, baseOf, type SchemaNode, schemaFiles, subschemas, withSubschemas } from './schema-files.js';

/** Formats that need a library: all but those of the service itself. */
const LIBRARY_FORMATS = /"format":"(?!(?:email|password-hash|date|time|date-time|duration)")/;

/**
 * Reads the declarations and the SQL files, and loads what their schemas need. `changed`: texts in place of those of files. Throws
 * DeclarationError.
 */
export async function loadDeclarations(
  config: Pick<Config, 'collections' | 'folder' | 'dataChanges' | 'features'>,
  changed?: ReadonlyMap<string, string>,
): Promise<Declarations> {
  const { collections, folder, dataChanges } = config;
  const ownPaths = ownPathsOf(config);
  const read = readFolder(collections, folder, changed);
  const { declarations } = read;
  // Loaded on demand: it finds the other faults as well, which a start need not look for.
  if (read.faults.length > 0) (await import('./check-declarations.js')).checkFolder(read, ownPaths);
  if (LIBRARY_FORMATS.test(JSON.stringify([declarations.collections, [...declarations.shared.values()]])))
    await loadFormats();
  const loaded = { ...declarations, ownPaths };
  const files = schemaFiles(declarations.collections, declarations.shared);
  const names = [
    ...declarations.collections.map(({ name }) => `${name}.json`),
    ...declarations.shared.keys(),
  ];
  const patterns = names.flatMap((name) => [...patternsIn(files.root(name))]);
  if (patterns.some((each) => comparisonsOf(each) === undefined)) await loadAutomata();
  // The database may have recorded a pattern that an earlier version accepted, and a reference to a collection that is gone.
  if (patterns.some((each) => faultOfPattern(each) !== undefined) || hasDanglingReference(declarations))
    (await import('./check-declarations.js')).checkDeclarations(loaded);
  return dataChanges === undefined ? loaded : { ...loaded, sqlFiles: readSqlFiles(dataChanges, folder) };
}

/** Whether a field refers to a collection that is not declared. */
function hasDanglingReference({ collections }: Declarations): boolean {
  const names = new Set(collections.map(({ name }) => name));
  const fields = collections.flatMap(({ schema }) => Object.values(schema.properties ?? {}));
  return fields.some((field) => {
    const { to } = declaredReference(field) ?? {};
    return to !== undefined && !names.has(to);
  });
}

/** The patterns in a schema and in the schemas that it contains. */
function* patternsIn(node: SchemaNode): Generator<string> {
  const { pattern, patternProperties } = node.schema;
  if (typeof pattern === 'string') yield pattern;
  if (isObject(patternProperties)) yield* Object.keys(patternProperties);
  for (const each of subschemas(node)) yield* patternsIn(each.node);
}

const withoutAnchors = ({ $anchor: _, $dynamicAnchor: __, ...schema }: JsonObject): JsonObject =>
  withSubschemas(schema, withoutAnchors);

/** The collections of valid declarations. Those whose schemas refer to others share a validator. */
export function resourcesOf({ collections, shared }: Declarations, place: ResourceOptions = {}): Resource[] {
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
  return resourcesWithoutRefs(collections, place).map((resource) =>
    /"\$(?:ref|dynamicRef)"/.test(JSON.stringify(resource.schema))
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
