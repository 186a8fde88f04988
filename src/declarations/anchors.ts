import { isObject, type Json, type JsonObject } from '../json.js';
import type { Declaration, DeclarationFault, DeclaredSchema } from './declaration.js';
import { faultsAt, type Rule, rule } from './rule.js';
import {
  baseIn,
  baseOf,
  nodesIn,
  REFERENCES,
  type SchemaFiles,
  type SchemaNode,
  schemaFiles,
  withSubschemas,
} from './schema-files.js';

/** The form of `$anchor` and `$dynamicAnchor` (JSON Schema 2020-12 core, section 8.2.2). */
const ANCHOR = /^[A-Za-z_][-A-Za-z0-9._]*$/;

interface AnchorPlace extends SchemaNode {
  readonly files: SchemaFiles;
  /** Schemas with a dynamic anchor that another one has. */
  readonly ambiguous: ReadonlySet<JsonObject>;
}

const RULES: readonly Rule<AnchorPlace>[] = [
  rule(
    ['/$anchor', '/$dynamicAnchor'],
    'must be a name of letters, digits, "-", "." and "_" that begins with a letter or "_"',
    (_, name) => name !== undefined && !isAnchor(name),
  ),
  rule(
    '/$anchor',
    (_, name) => `another schema of the file has the anchor "${name}"`,
    (place, name) => isAnchor(name) && place.files.isRepeated(place, '$anchor'),
  ),
  rule(
    '/$dynamicAnchor',
    (_, name) => `another schema has the dynamic anchor "${name}": use $anchor and $ref`,
    ({ ambiguous, schema }, name) => isAnchor(name) && ambiguous.has(schema),
  ),
];

const isAnchor = (name: Json | undefined): boolean => typeof name === 'string' && ANCHOR.test(name);

/**
 * Declarations without `$anchor` and `$dynamicAnchor`: references to an anchor name its schema by a JSON Pointer, as all readers of
 * declarations know it. Adds a fault for each anchor that has another form, and for each that a schema before it has.
 */
export function withoutAnchors(
  collections: readonly Declaration[],
  shared: ReadonlyMap<string, DeclaredSchema>,
  faults: DeclarationFault[],
) {
  const files = schemaFiles(collections, shared);
  const ambiguous = new Set(
    collections.flatMap(({ name }) => ambiguousAnchors(files.root(`${name}.json`), files)),
  );
  const replaced = (file: string): DeclaredSchema => {
    const root = files.root(file);
    for (const node of nodesIn(root))
      for (const { pointer, reason } of faultsAt({ ...node, files, ambiguous }, RULES))
        faults.push({ file: files.pathOf(file), pointer: node.pointer + pointer, reason });
    return withPointers(root.schema, root.base, files) as unknown as DeclaredSchema;
  };
  return {
    collections: collections.map((each) => ({ ...each, schema: replaced(`${each.name}.json`) })),
    shared: new Map([...shared.keys()].map((file) => [file, replaced(file)])),
  };
}

/** Schemas with a dynamic anchor that another one has, in files to which a collection leads: the way to a value would decide. */
function ambiguousAnchors(record: SchemaNode, files: SchemaFiles): JsonObject[] {
  const reached = new Set([record.file]);
  const anchored: JsonObject[] = [];
  for (const file of reached)
    for (const node of nodesIn(files.root(file))) {
      if (node.schema.$dynamicAnchor !== undefined) anchored.push(node.schema);
      // Files that are added meanwhile are visited as well.
      for (const each of files.referred(node)) reached.add(each.node.file);
    }
  const seen = new Set<Json>();
  return anchored.filter(({ $dynamicAnchor: name }) => seen.has(name!) || !seen.add(name!));
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
