import { arrayOf, objectOf, type Schema, schemaRef } from '../../api/schema.js';
import { IDENTIFIERS, withSubschemas } from '../../declarations/schema-files.js';
import type { JsonObject } from '../../json.js';
import { relatedOf } from '../../list/relations.js';
import type { Version } from '../../versions/supported.js';
import { asInput, hasDefault, withoutDefaults } from './input-schema.js';
import { type DescribedResource, derivedNames, type TypeNames } from './type-names.js';

const VERSION: Schema = { type: 'integer', minimum: 1 };

/** Members of a record that the service sets. */
const OWN: Readonly<Record<string, Schema>> = {
  id: { type: 'string', format: 'uuid', readOnly: true },
  created_at: { type: 'string', format: 'date-time', readOnly: true },
  updated_at: { type: 'string', format: 'date-time', readOnly: true },
  _version: { ...VERSION, readOnly: true },
};

const EXCERPTS: Schema = {
  description:
    'With `excerpts=true`: parts of the fields in which words are found, as HTML whose only tags are `<mark>` around each word.',
  type: 'object',
  additionalProperties: { type: 'string' },
  readOnly: true,
};

/**
 * The member that no page has, by which TypeScript permits `list[0]` where a list is an array or a page. Generators of types
 * do not read `not`, so that it has the type of an element.
 */
const noElement = (resource: DescribedResource): Schema => ({
  description:
    'Never present. Typed clients may read `list[0]` where the query decides whether a list is an array or a page.',
  ...shownRecord(resource),
  not: {},
});

/** The names of a collection's schemas. */
export const schemaNames = ({ types }: DescribedResource) => derivedNames(types.one, types.many);

/**
 * The schemas of a collection: a record, one with the members that `fields` names, what creates one, what changes one,
 * and a page. `readable`: the collections whose records the caller may read, of which related ones are described.
 */
export function recordSchemas(
  resource: DescribedResource,
  { lists }: Version,
  readable: ReadonlySet<string>,
): Record<string, Schema> {
  const { record, partial, included, input, patch, page } = schemaNames(resource);
  const { properties, required, ...rules } = declared(resource);
  const shown = visible(resource, properties);
  const related = relatedRecords(resource, readable);
  const own = {
    ...OWN,
    ...shown,
    ...(related ? { _included: schemaRef(included) } : {}),
    ...(resource.words.length > 0 ? { _excerpts: EXCERPTS } : {}),
    _links: schemaRef('Links'),
  };
  const inputs = settable(resource, properties);
  const list = resource.schema.description;
  return {
    [record]: {
      ...rules,
      ...(typeof list === 'string' ? { description: list } : {}),
      properties: own,
      required: [...Object.keys(OWN), ...required.filter((name) => Object.hasOwn(shown, name))],
    },
    [partial]: {
      description: 'A record with the members that `fields` names.',
      type: 'object',
      properties: withoutDefaults(own),
      required: ['id'],
    },
    [input]: {
      ...asInput(rules),
      properties: { ...inputs, _version: VERSION },
      required: required.filter((name) => Object.hasOwn(inputs, name) && !hasDefault(properties[name])),
    },
    [patch]: {
      description: 'Members to change; null removes one (RFC 7396). `_version` must be the current one.',
      type: 'object',
      properties: {
        ...Object.fromEntries(
          Object.entries(inputs)
            .filter(([name]) => !resource.immutable.includes(name))
            .map(([name, schema]) => [name, { anyOf: [schema, { type: 'null' }] }]),
        ),
        _version: VERSION,
      },
    },
    ...(related ? { [included]: related } : {}),
    [page]: objectOf(
      {
        data: listedRecords(resource, lists),
        meta: schemaRef('PageMeta'),
        links: schemaRef('PageLinks'),
        ...(lists === 'numbered' && { 0: noElement(resource) }),
      },
      ['data', 'meta', 'links'],
    ),
  };
}

/** A record, which `fields` may limit to some members. */
export function shownRecord(resource: DescribedResource): Schema {
  const { record, partial } = schemaNames(resource);
  return { anyOf: [schemaRef(record), schemaRef(partial)] };
}

/** The records of a list, which `fields` may limit to some members. */
export function listedRecords(resource: DescribedResource, lists: Version['lists']): Schema {
  const { record, partial } = schemaNames(resource);
  return arrayOf({ anyOf: [lists === 'keyset' ? linked(record) : schemaRef(record), schemaRef(partial)] });
}

/** A record with its links. */
const linked = (record: string): Schema => ({
  allOf: [schemaRef(record), objectOf({ _links: schemaRef('Links') })],
});

/** The members of `_included`; undefined: the collection has no relations to others that the caller may read. */
function relatedRecords(resource: DescribedResource, readable: ReadonlySet<string>): Schema | undefined {
  const related = relatedOf(resource).filter(({ collection }) => readable.has(collection));
  const properties = Object.fromEntries(
    related.map(({ name, collection, field }): [string, Schema] => {
      const of = derivedNames(resource.types.of(collection), '');
      const record = { anyOf: [schemaRef(of.record), schemaRef(of.partial)] };
      return [name, field === undefined ? arrayOf(record) : { anyOf: [...record.anyOf, { type: 'null' }] }];
    }),
  );
  for (const { name, field } of related)
    if (field === undefined) properties[`${name}.count`] = { type: 'integer', minimum: 0 };
  if (Object.keys(properties).length === 0) return undefined;
  return { ...objectOf(properties, []), description: 'The related records that `include` names.' };
}

type Properties = Readonly<Record<string, Schema>>;

/** The declared schema without the keywords of declarations; its definitions are schemas of the document. */
function declared({
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

/** The members that responses show: imports may have set more of them than requests may. */
function visible({ schema, writeOnly }: DescribedResource, properties: Properties): Record<string, Schema> {
  const hidden = Object.entries(schema.properties)
    .filter(([name, rules]) => writeOnly.includes(name) || (rules as JsonObject).writeOnly === true)
    .map(([name]) => name);
  return Object.fromEntries(Object.entries(properties).filter(([name]) => !hidden.includes(name)));
}

/** The members that requests may set: those with a default may be absent. */
function settable(
  { readOnly, importOnly }: DescribedResource,
  properties: Properties,
): Record<string, Schema> {
  const ignored = [...readOnly, ...importOnly];
  const given = Object.entries(properties).filter(([name]) => !ignored.includes(name));
  return Object.fromEntries(given.map(([name, schema]) => [name, asInput(schema)]));
}
