import type { DeclarationFault } from './declaration.js';
import type { Declarations } from './read-declarations.js';
import { baseOf, SchemaFiles, type SchemaNode, subschemas } from './schema-files.js';

/** The `$id` of schemas within a file that is no URI, or that another schema has. That of a whole file is not used. */
export function identifierFaults({ collections, shared }: Declarations): DeclarationFault[] {
  const paths = new Map(collections.map(({ name, file }) => [`${name}.json`, file]));
  const own = collections.map(({ name, schema }): [string, object] => [`${name}.json`, schema]);
  const files = new SchemaFiles([...own, ...shared]);
  const names = [...own, ...shared].map(([name]) => name);
  const seen = new Set(names.map(baseOf));
  const faults: DeclarationFault[] = [];
  const visit = (node: SchemaNode, outer: string): void => {
    const { $id } = node.schema;
    const reason = node.pointer !== '' && typeof $id === 'string' ? faultOf($id, outer, seen) : undefined;
    const file = paths.get(node.file) ?? node.file;
    if (reason !== undefined) faults.push({ file, pointer: `${node.pointer}/$id`, reason });
    for (const each of subschemas(node)) visit(each.node, node.base);
  };
  for (const name of names) visit(files.root(name), baseOf(name));
  return faults;
}

function faultOf($id: string, base: string, seen: Set<string>): string | undefined {
  if (!URL.canParse($id, base)) return `is no URI, also not relative to ${base}`;
  const uri = new URL($id, base).href.replace(/#$/, '');
  if (seen.has(uri)) return `another schema has the identifier ${uri}`;
  seen.add(uri);
  return undefined;
}
