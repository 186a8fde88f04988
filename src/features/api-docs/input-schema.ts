import type { Schema } from '../../api/schema.js';
import { withSubschemas } from '../../declarations/schema-files.js';
import { isObject, type Json, member } from '../../json.js';

/**
 * A schema as that of input: a member with a default is optional. The default is part of the description, since generators
 * take a member with `default` for one that is always present.
 */
export function asInput(schema: Schema): Schema {
  const { default: _, ...rest } = schema;
  const result = withSubschemas(rest, asInput);
  if (typeof schema.$ref === 'string') result.$ref = inputReference(schema.$ref);
  if (Array.isArray(schema.required) && isObject(schema.properties)) {
    const members = schema.properties;
    result.required = schema.required.filter((name) => !hasDefault(member(members, String(name))));
  }
  return schema.default === undefined ? result : { ...result, description: describedDefault(schema) };
}

/** The reference to the input of a definition. */
const inputReference = (reference: string): string =>
  reference.startsWith('#/components/schemas/') ? `${reference}Input` : reference;

/** Whether a member has a value without a request that gives one. */
export const hasDefault = (schema: Json | undefined): boolean =>
  isObject(schema) && schema.default !== undefined;

function describedDefault({ description, default: value }: Schema): string {
  const text = `Default: \`${JSON.stringify(value)}\`.`;
  return typeof description === 'string' ? `${description} ${text}` : text;
}

/** Members that may be absent although a record has them. */
export const withoutDefaults = (properties: Readonly<Record<string, Schema>>): Record<string, Schema> =>
  Object.fromEntries(
    Object.entries(properties).map(([name, { default: _, ...schema }]) => [name, schema as Schema]),
  );
