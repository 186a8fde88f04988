import type { Schema } from '../../api/schema.js';
import { IDENTIFIERS, withSubschemas } from '../../declarations/schema-files.js';
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
  return located(rules, name, types) as ReturnType<typeof declared>;
}

/** The schemas that a declaration defines for its own use. */
export function definitions({ schema, name, types }: DescribedResource): Record<string, Schema> {
  const { $defs = {} } = schema as { $defs?: JsonObject };
  return Object.fromEntries(
    Object.entries($defs).flatMap(([key, rules]) => {
      const schema = located(rules as JsonObject, name, types);
      const title = types.definition(name, key)!;
      return [
        [title, schema],
        [`${title}Input`, asInput(schema)],
      ];
    }),
  );
}

/** `#/$defs/money` or `shared.json#/$defs/money`, and what may follow. */
const DEFINITION = /^(?:([a-z][\w-]*)\.json)?#\/\$defs\/([\w.-]+)/;

/** A schema without keywords of declarations, and with references to where definitions are in the document. */
function located(schema: JsonObject, collection: string, types: TypeNames): JsonObject {
  const locate = (found: string, file: string | undefined, key: string): string => {
    const name = types.definition(file ?? collection, key);
    return name === undefined ? found : `#/components/schemas/${name}`;
  };
  const copy = (each: JsonObject): JsonObject => {
    const own = Object.entries(each).filter(
      ([keyword]) => !keyword.startsWith('x-') && !IDENTIFIERS.has(keyword),
    );
    const { $ref = each.$dynamicRef, ...rest } = withSubschemas(Object.fromEntries(own), copy);
    if (typeof $ref !== 'string') return rest;
    const reference = $ref.replace(DEFINITION, locate);
    // Other files are not part of the document.
    return reference.startsWith('#/components/')
      ? { ...rest, $ref: reference }
      : { description: `As in ${reference}.`, ...rest };
  };
  return copy(schema);
}
