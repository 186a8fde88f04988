import { isObject, type Json, type JsonObject } from '../json.js';
import type { Declaration, DeclarationFault, DeclaredSchema } from './declaration.js';
import {
  baseIn,
  baseOf,
  REFERENCES,
  SchemaFiles,
  type SchemaNode,
  subschemas,
  withSubschemas,
} from './schema-files.js';

/** The form of `$anchor` and `$dynamicAnchor` (JSON Schema 2020-12 core, section 8.2.2). */
const ANCHOR = /^[A-Za-z_][-A-Za-z0-9._]*$/;

/**
 * Declarations without `$anchor` and `$dynamicAnchor`: references to an anchor name its schema by a JSON Pointer, as all readers of
 * declarations know it. Adds a fault for each anchor that has another form, and for each that a schema before it has.
 */
export function withoutAnchors(
  collections: readonly Declaration[],
  shared: ReadonlyMap<string, DeclaredSchema>,
  faults: DeclarationFault[],
) {
  const paths = new Map(collections.map(({ name, file }) => [`${name}.json`, file]));
  const own = collections.map(({ name, schema }): [string, object] => [`${name}.json`, schema]);
  const files = new SchemaFiles([...own, ...shared]);
  const found = new Set<string>();
  const dynamic = new Map(own.flatMap(([file]) => [...dynamicFaults(files.root(file), files)]));
  const addFaults = (node: SchemaNode): void => {
    const file = paths.get(node.file) ?? node.file;
    const add = (keyword: string, reason: string | undefined) => {
      if (reason !== undefined) faults.push({ file, pointer: `${node.pointer}/${keyword}`, reason });
    };
    add('$anchor', anchorFault(node, found));
    add('$dynamicAnchor', formFault(node.schema.$dynamicAnchor) ?? dynamic.get(node.schema));
    for (const each of subschemas(node)) addFaults(each.node);
  };
  const replaced = (file: string): DeclaredSchema => {
    const root = files.root(file);
    addFaults(root);
    return withPointers(root.schema, root.base, files) as unknown as DeclaredSchema;
  };
  return {
    collections: collections.map((each) => ({ ...each, schema: replaced(`${each.name}.json`) })),
    shared: new Map([...shared.keys()].map((file) => [file, replaced(file)])),
  };
}

/** Why an anchor is not valid; undefined: it is, or there is none. `found`: those of the schemas before. */
function anchorFault(
  { schema: { $anchor, $dynamicAnchor }, base }: SchemaNode,
  found: Set<string>,
): string | undefined {
  const names = [$anchor, $dynamicAnchor].filter((each) => typeof each === 'string');
  const uris = names.map((name) => `${base}#${name}`);
  const repeated = uris.some((uri) => found.has(uri));
  for (const uri of uris) found.add(uri);
  return formFault($anchor) ?? ($anchor !== undefined && repeated ? repetition($anchor) : undefined);
}

const formFault = (anchor: Json | undefined): string | undefined =>
  anchor === undefined || (typeof anchor === 'string' && ANCHOR.test(anchor))
    ? undefined
    : 'must be a name of letters, digits, "-", "." and "_" that begins with a letter or "_"';

const repetition = (anchor: Json): string => `another schema of the file has the anchor "${anchor}"`;

/**
 * The faults of dynamic anchors, by their schemas: of two with one name, in files to which a collection leads, the way to a value
 * would decide.
 */
function* dynamicFaults(record: SchemaNode, files: SchemaFiles): Generator<[JsonObject, string]> {
  const names = new Set<Json>();
  const reached = new Set([record.file]);
  const visit = function* (node: SchemaNode): Generator<[JsonObject, string]> {
    const { $dynamicAnchor: name } = node.schema;
    if (name !== undefined && names.has(name))
      yield [node.schema, `another schema has the dynamic anchor "${name}": use $anchor and $ref`];
    if (name !== undefined) names.add(name);
    for (const each of files.referred(node)) reached.add(each.node.file);
    for (const each of subschemas(node)) yield* visit(each.node);
  };
  for (const file of reached) yield* visit(files.root(file));
}

function withPointers(schema: JsonObject, outer: string, files: SchemaFiles): JsonObject {
  const base = baseIn(schema, outer);
  const {
    $anchor: _,
    $dynamicAnchor: __,
    ...rest
  } = withSubschemas(schema, (each) => withPointers(each, base, files));
  for (const keyword of REFERENCES) {
    const reference = rest[keyword];
    const pointer = typeof reference === 'string' ? pointerTo(reference, base, files) : undefined;
    if (pointer !== undefined) rest[keyword] = pointer;
  }
  return rest;
}

/** The reference by a JSON Pointer to the schema of an anchor; undefined: another reference, or one to no schema. */
function pointerTo(reference: string, base: string, files: SchemaFiles): Json | undefined {
  const target = /#[^/]/.test(reference) ? files.resolve(reference, base) : undefined;
  if (!target || !isObject(target.schema)) return undefined;
  const { $anchor, $dynamicAnchor } = target.schema;
  if ($anchor === undefined && $dynamicAnchor === undefined) return undefined;
  const fragment = `#${encodeURI(target.pointer).replaceAll('#', '%23')}`;
  if (base === baseOf(target.file)) return fragment;
  // A file name is relative to the folder; an identifier within a file may lead elsewhere.
  return new URL(target.file, base).href === baseOf(target.file)
    ? `${target.file}${fragment}`
    : `${baseOf(target.file)}${fragment}`;
}
