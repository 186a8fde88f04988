import type { Schema } from '../../api/schema.js';
import { baseIn, baseOf, DEFINITIONS, IDENTIFIERS, withSubschemas } from '../../declarations/schema-files.js';
import type { JsonObject } from '../../json.js';
import { asInput } from './input-schema.js';
import type { DescribedResource, TypeNames } from './type-names.js';

/** The members of a schema. */
export type Properties = Readonly<Record<string, Schema>>;

/** The declared schema without the keywords of declarations; its definitions are schemas of the document. */
export function declared({
  schema,
  name,
  types,
}: DescribedResource): JsonObject & { properties: Properties; required: string[] } {
  const { $defs: _f, description: _d, ...rules } = schema as unknown as JsonObject;
  return located(rules, baseOf(`${name}.json`), types) as ReturnType<typeof declared>;
}

/** The schemas to which a declaration refers, its own or those of other files. */
export const definitions = ({ types }: DescribedResource): Record<string, Schema> =>
  Object.fromEntries(
    types.definitions.flatMap(({ name, node }) => {
      const { $defs: _, ...rules } = node.schema;
      const schema = located(rules, node.base, types);
      return [
        [name, schema],
        [`${name}Input`, asInput(schema)],
      ];
    }),
  );

/** A schema without keywords of declarations, and with references to where their targets are in the document. */
function located(schema: JsonObject, from: string, types: TypeNames): JsonObject {
  const base = baseIn(schema, from);
  const own = Object.entries(schema).filter(
    ([keyword]) => !keyword.startsWith('x-') && !IDENTIFIERS.has(keyword) && !DEFINITIONS.has(keyword),
  );
  const { $ref, ...rest } = withSubschemas(Object.fromEntries(own), (each) => located(each, base, types));
  const reference = $ref ?? schema.$dynamicRef;
  if (typeof reference !== 'string') return rest;
  const name = types.referred(reference, base);
  return name === undefined ? rest : { ...rest, $ref: `#/components/schemas/${name}` };
}
