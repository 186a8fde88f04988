import type { Schema } from '../../api/doc.js';
import type { Resource } from '../../collection/resource.js';
import {
  baseIn,
  baseOf,
  DEFINITIONS,
  type SchemaNode,
  withSubschemas,
} from '../../declarations/schema-files.js';
import { isObject, type Json, type JsonObject, member } from '../../json.js';
import { type ComparedColumn, LIST_OPERATORS, MAX_VALUES, type Operator } from '../../list/condition.js';

/** The place of a schema in the document that describes it; undefined: it has none. `base`: the URI of the reference's file. */
export type Refer = (reference: string, base: string) => string | undefined;

/** Keywords that identify a schema: a copy of the schema in another document must not have them. */
const IDENTIFIERS: ReadonlySet<string> = new Set(['$id', '$schema', '$anchor']);

/** A declared schema without the keywords of declarations, and with references to where their targets are in the document. */
export function describedSchema({ schema, base: from }: Pick<SchemaNode, 'schema' | 'base'>, refer: Refer) {
  const base = baseIn(schema, from);
  const own = Object.entries(schema).filter(
    ([keyword]) => !keyword.startsWith('x-') && !IDENTIFIERS.has(keyword) && !DEFINITIONS.has(keyword),
  );
  const inner = (each: JsonObject): JsonObject => describedSchema({ schema: each, base }, refer);
  const { $ref, ...rest } = withSubschemas(Object.fromEntries(own), inner);
  const place = typeof $ref === 'string' ? refer($ref, base) : undefined;
  const to = schema['x-references'];
  const meaning =
    to === undefined || 'description' in rest ? {} : { description: `The id of a record of ${to}.` };
  return { ...rest, ...meaning, ...(place === undefined ? {} : { $ref: place }) };
}

/**
 * The schemas of a collection's records: in responses, in the body of a creation, and of a merge patch (RFC 7396). They have the
 * declared fields alone.
 */
export function recordSchema(resource: Resource, refer: Refer) {
  const { name, writeOnly, readOnly, importOnly, immutable } = resource;
  const { description: _, ...schema } = resource.schema as unknown as JsonObject;
  const { properties, required, ...rules } = describedSchema(
    { schema, base: baseOf(`${name}.json`) },
    refer,
  ) as {
    readonly properties: Readonly<Record<string, JsonObject>>;
    readonly required?: readonly string[];
  } & JsonObject;
  const fields = Object.entries(properties);
  // Imports may have set more fields than requests may.
  const shown = fields.filter(([field, rule]) => !writeOnly.includes(field) && rule.writeOnly !== true);
  const settable = fields.filter(([field]) => !readOnly.includes(field) && !importOnly.includes(field));
  const changeable = settable.filter(([field]) => !immutable.includes(field));
  const isShown = (field: string) => shown.some(([each]) => each === field);
  const isNeeded = (field: string) =>
    settable.some(([each]) => each === field) && !hasDefault(properties[field]);
  const hidden = fields.map(([field]) => field).filter((field) => !isShown(field));
  const inputs = Object.fromEntries(settable.map(([field, rule]) => [field, asInput(rule)]));
  const changes = Object.fromEntries(changeable.map(([field]) => [field, inputs[field]!]));
  return {
    record: {
      ...rulesWithout(hidden, rules),
      properties: Object.fromEntries(shown),
      required: (required ?? []).filter(isShown),
    },
    input: { ...asInput(rules), properties: inputs, required: (required ?? []).filter(isNeeded) },
    patch: { type: 'object', properties: relaxed(changes, required ?? []) },
  };
}

/**
 * A schema as that of input: a member with a default is optional. The default is part of the description, since generators
 * take a member with `default` for one that is always present.
 */
export function asInput(schema: JsonObject): JsonObject {
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
const hasDefault = (schema: Json | undefined): boolean => isObject(schema) && schema.default !== undefined;

function describedDefault({ description, default: value }: JsonObject): string {
  const text = `Default: \`${JSON.stringify(value)}\`.`;
  return typeof description === 'string' ? `${description} ${text}` : text;
}

/** The members of a patch: null removes an optional one, and objects are patched in turn. */
function relaxed(properties: JsonObject, required: readonly string[]): JsonObject {
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => {
      if (!isObject(schema)) return [name, schema];
      const { required: inner = [], properties: members, ...rest } = schema;
      const partial = isObject(members)
        ? { ...rest, properties: relaxed(members, inner as string[]) }
        : schema;
      return [name, required.includes(name) ? partial : { anyOf: [partial, { type: 'null' }] }];
    }),
  );
}

/** The rules of a whole record that its parts obey as well. */
const OF_PARTS: ReadonlySet<string> = new Set([
  'type',
  'title',
  'additionalProperties',
  'patternProperties',
  'propertyNames',
  'maxProperties',
  'dependentRequired',
  'dependentSchemas',
  'allOf',
]);

/**
 * The rules of a record without those that name fields of `absent`, or that count members. `rules` are the keywords of its schema
 * besides `properties` and `required`.
 */
function rulesWithout(absent: readonly string[], rules: JsonObject): JsonObject {
  if (absent.length === 0) return rules;
  const names = absent.map((name) => JSON.stringify(name));
  const isAboutOthers = ([keyword, value]: [string, unknown]) =>
    !OF_PARTS.has(keyword) || names.some((name) => JSON.stringify(value).includes(name));
  return Object.fromEntries(Object.entries(rules).filter((each) => !isAboutOthers(each)));
}

/** The schema of what an operator of filters compares a field with. */
export function operandSchema(operator: Operator, column: ComparedColumn): Schema {
  const value = valueSchema(column);
  if (operator === 'between') return { type: 'array', items: value, minItems: 2, maxItems: 2 };
  if (LIST_OPERATORS.has(operator)) return { type: 'array', items: value, minItems: 1, maxItems: MAX_VALUES };
  if (operator === 'null') return { type: 'boolean' };
  return operator === 'prefix' || operator === 'contains' ? { type: 'string' } : value;
}

/** The schema of a value of a field, as filters have it. */
export function valueSchema({ type, format }: ComparedColumn): Schema {
  const plain = type.replace('[]', '');
  if (plain === 'double precision') return { type: 'number' };
  if (plain === 'boolean') return { type: 'boolean' };
  if (plain === 'uuid') return { type: 'string', format: 'uuid' };
  return format === undefined ? { type: 'string' } : { type: 'string', format };
}

/** How a search reads its text. */
export function searchMeaning({ searchable, words }: Resource): string {
  const part = `Text within ${searchable.join(', ')}. Upper and lower case are equal.`;
  const found = `Words of ${words.join(', ')}, all of which a record has: "in quotation marks" one after the other, desk* for the beginning of a word, -red for one that the record does not have.`;
  if (words.length === 0) return part;
  return searchable.length === 0 ? found : `${found} Or: ${part}`;
}
