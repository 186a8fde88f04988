import { isObject, type Json, type JsonObject, member } from '../json.js';
import type { Schema } from './model.js';

/**
 * A schema as that of input: a member with a default is optional. The default is part of the description, since generators
 * take a member with `default` for one that is always present.
 */
export function asInput(schema: Schema): Schema {
  const result: JsonObject = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === 'default') continue;
    result[keyword] = VALUES.has(keyword) ? value : nestedInput(keyword, value);
  }
  if (Array.isArray(schema.required) && isObject(schema.properties)) {
    const members = schema.properties;
    result.required = schema.required.filter((name) => !hasDefault(member(members, String(name))));
  }
  return schema.default === undefined ? result : { ...result, description: describedDefault(schema) };
}

/** Keywords whose values are no schemas. */
const VALUES: ReadonlySet<string> = new Set(['const', 'enum', 'examples', 'required']);

function nestedInput(keyword: string, value: Json): Json {
  if (keyword === '$ref') return inputReference(String(value));
  if (Array.isArray(value)) return value.map((each) => (isObject(each) ? asInput(each) : each));
  if (!isObject(value)) return value;
  if (!NAMED.has(keyword)) return asInput(value);
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, isObject(each) ? asInput(each) : each]),
  );
}

/** Keywords whose members are schemas by their names. */
const NAMED: ReadonlySet<string> = new Set(['properties', 'patternProperties', 'dependentSchemas', '$defs']);

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
