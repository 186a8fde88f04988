import type { Ajv2020 } from 'ajv/dist/2020.js';
import type { Resource } from '../collection/resource.js';
import { createAjv, loadFormats } from '../validation/ajv.js';
import { type Declarations, readDeclarations } from './read-declarations.js';
import { resourcesWithoutRefs } from './resource-of.js';
import { baseOf } from './schema-base.js';

/** Formats that need a library: all but those of the built-in collections. */
const LIBRARY_FORMATS = /"format":"(?!email"|password-hash")/;

/** Reads the declarations, and loads what their schemas need. Throws DeclarationError. */
export async function loadDeclarations({
  collections: folder,
}: {
  collections: string | undefined;
}): Promise<Declarations> {
  const declarations = readDeclarations(folder);
  if (LIBRARY_FORMATS.test(JSON.stringify([declarations.collections, [...declarations.shared.values()]])))
    await loadFormats();
  return declarations;
}

/** The collections of valid declarations; `prefix` precedes the paths of links. Those whose schemas refer to others share a validator. */
export function resourcesOf({ collections, shared }: Declarations, prefix = ''): Resource[] {
  let ajv: Ajv2020 | undefined;
  const validator = (): Ajv2020 => {
    if (ajv) return ajv;
    ajv = createAjv();
    for (const [name, schema] of shared) ajv.addSchema({ ...schema, $id: baseOf(name) });
    for (const { name, schema } of collections) ajv.addSchema({ ...schema, $id: baseOf(`${name}.json`) });
    return ajv;
  };
  return resourcesWithoutRefs(collections, prefix).map((resource) =>
    JSON.stringify(resource.schema).includes('$ref')
      ? {
          ...resource,
          // Its own copy has another base, which it must not share with the one that others refer to.
          schema: { ...resource.schema, $id: baseOf(`${resource.name}.json#record`) },
          ajv: validator,
        }
      : resource,
  );
}
