import type { Resource } from '../collection/resource.js';
import type { JsonObject } from '../json.js';
import type { Version } from '../versions/version.js';
import { arrayOf, objectOf, type Schema, schemaRef, typeName } from './model.js';

/** Members of a record that the service sets. */
const OWN: Readonly<Record<string, Schema>> = {
  id: { type: 'string', format: 'uuid', readOnly: true },
  created_at: { type: 'string', format: 'date-time', readOnly: true },
  updated_at: { type: 'string', format: 'date-time', readOnly: true },
  _version: { type: 'integer', minimum: 1, readOnly: true },
};

/** The names of a collection's schemas. */
export function schemaNames({ name, singular }: Resource) {
  const record = typeName(singular);
  return {
    record,
    partial: `Partial${record}`,
    input: `${record}Input`,
    patch: `${record}Patch`,
    page: `${typeName(name)}Page`,
  };
}

/**
 * The schemas of a collection: a record, one with the members that `fields` names, what creates one, what changes one,
 * and a page.
 */
export function recordSchemas(resource: Resource, { lists }: Version): Record<string, Schema> {
  const { record, partial, input, patch, page } = schemaNames(resource);
  const { properties, required, ...rules } = declared(resource);
  const shown = visible(resource, properties);
  const inputs = settable(resource, properties);
  const list = resource.schema.description;
  return {
    [record]: {
      ...rules,
      ...(typeof list === 'string' ? { description: list } : {}),
      properties: { ...OWN, ...shown, _links: schemaRef('Links') },
      required: [...Object.keys(OWN), ...required.filter((name) => Object.hasOwn(shown, name))],
    },
    [partial]: {
      description: 'A record with the members that `fields` names.',
      type: 'object',
      properties: { ...OWN, ...shown, _links: schemaRef('Links') },
      required: ['id'],
    },
    [input]: {
      ...rules,
      properties: { ...inputs, _version: { type: 'integer', minimum: 1 } },
      required: required.filter((name) => Object.hasOwn(inputs, name)),
    },
    [patch]: {
      description: 'Members to change; null removes one (RFC 7396). `_version` must be the current one.',
      type: 'object',
      properties: Object.fromEntries(
        Object.entries(inputs).map(([name, schema]) => [name, { anyOf: [schema, { type: 'null' }] }]),
      ),
    },
    [page]: objectOf({
      data: listedRecords(resource, lists),
      meta: schemaRef('PageMeta'),
      links: schemaRef('PageLinks'),
    }),
  };
}

/** The records of a list, which `fields` may limit to some members. */
export function listedRecords(resource: Resource, lists: Version['lists']): Schema {
  const { record, partial } = schemaNames(resource);
  return arrayOf({ anyOf: [lists === 'keyset' ? linked(record) : schemaRef(record), schemaRef(partial)] });
}

/** A record with its links. */
const linked = (record: string): Schema => ({
  allOf: [schemaRef(record), { type: 'object', required: ['_links'] }],
});

type Properties = Readonly<Record<string, Schema>>;

/** The declared schema without the keywords of declarations; its definitions are schemas of the document. */
function declared({ schema, name }: Resource): JsonObject & { properties: Properties; required: string[] } {
  const { $schema: _s, $id: _i, $defs: _f, description: _d, ...rules } = schema as unknown as JsonObject;
  return located(rules, name) as ReturnType<typeof declared>;
}

/** The schemas that a declaration defines for its own use. */
export function definitions({ schema, name }: Resource): Record<string, Schema> {
  const { $defs = {} } = schema as { $defs?: JsonObject };
  return Object.fromEntries(
    Object.entries($defs).map(([key, rules]) => [
      definitionName(name, key),
      located(rules as JsonObject, name),
    ]),
  );
}

const definitionName = (collection: string, key: string) => `${typeName(collection)}.${key}`;

/** A schema with references to where definitions are in the document. */
function located(schema: JsonObject, collection: string): JsonObject {
  const text = JSON.stringify(withoutExtensions(schema)).replace(
    /"\$ref":"(?:([a-z][\w-]*)\.json)?#\/\$defs\/([\w.-]+)"/g,
    (_, file: string | undefined, key: string) =>
      `"$ref":"#/components/schemas/${definitionName(file ?? collection, key)}"`,
  );
  // Other files are not part of the document.
  const own = text.replace(/"\$ref":"(?!#\/components\/)([^"]*)"/g, '"description":"As in $1."');
  return JSON.parse(own) as JsonObject;
}

function withoutExtensions(schema: JsonObject): JsonObject {
  const result: JsonObject = {};
  for (const [name, value] of Object.entries(schema)) {
    if (name.startsWith('x-')) continue;
    result[name] =
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? withoutExtensions(value as JsonObject)
        : value;
  }
  return result;
}

/** What responses show: imports may have set more than requests may. */
function visible({ schema, writeOnly }: Resource, properties: Properties): Record<string, Schema> {
  const hidden = Object.entries(schema.properties)
    .filter(([name, rules]) => writeOnly.includes(name) || (rules as JsonObject).writeOnly === true)
    .map(([name]) => name);
  return Object.fromEntries(Object.entries(properties).filter(([name]) => !hidden.includes(name)));
}

function settable({ readOnly, importOnly }: Resource, properties: Properties): Record<string, Schema> {
  const ignored = [...readOnly, ...importOnly];
  return Object.fromEntries(Object.entries(properties).filter(([name]) => !ignored.includes(name)));
}
