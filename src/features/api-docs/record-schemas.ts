import { arrayOf, objectOf, type Schema, schemaRef } from '../../api/doc.js';
import type { Version } from '../../versions/supported.js';
import { asInput, describedSchema, type Refer, recordSchema } from './described-schema.js';
import { type DescribedResource, derivedNames } from './type-names.js';

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

/** The schemas to which a declaration refers, its own or those of other files. */
export const definitions = ({ types }: DescribedResource): Record<string, Schema> =>
  Object.fromEntries(
    types.definitions.flatMap(({ name, node }) => {
      const schema = describedSchema(node, referIn(types)) as Schema;
      return [
        [name, schema],
        [`${name}Input`, asInput(schema) as Schema],
      ];
    }),
  );

const referIn =
  ({ referred }: DescribedResource['types']): Refer =>
  (reference, base) => {
    const name = referred(reference, base);
    return name === undefined ? undefined : `#/components/schemas/${name}`;
  };

/** The names of a collection's schemas. */
export const schemaNames = ({ types }: DescribedResource) => derivedNames(types.one, types.many);

/**
 * The schemas of a collection: a record, one with the members that `fields` names, what creates one, what changes one,
 * and a page.
 */
export function recordSchemas(resource: DescribedResource, { lists }: Version): Record<string, Schema> {
  const { record, partial, included, input, patch, page } = schemaNames(resource);
  const schemas = recordSchema(resource, referIn(resource.types));
  const related = relatedRecords(resource);
  const own = {
    ...OWN,
    ...schemas.record.properties,
    ...(related ? { _included: schemaRef(included) } : {}),
    ...(resource.words.length > 0 ? { _excerpts: EXCERPTS } : {}),
    _links: schemaRef('Links'),
  };
  const list = resource.schema.description;
  return {
    [record]: {
      ...schemas.record,
      ...(typeof list === 'string' ? { description: list } : {}),
      properties: own,
      required: [...Object.keys(OWN), ...schemas.record.required],
    },
    [partial]: {
      description: 'A record with the members that `fields` names.',
      type: 'object',
      // Members may be absent although a record has them.
      properties: Object.fromEntries(
        Object.entries(own).map(([name, { default: _, ...schema }]) => [name, schema]),
      ),
      required: ['id'],
    },
    [input]: { ...schemas.input, properties: { ...schemas.input.properties, _version: VERSION } },
    [patch]: {
      ...schemas.patch,
      description: 'Members to change; null removes one (RFC 7396). `_version` must be the current one.',
      properties: { ...schemas.patch.properties, _version: VERSION },
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

/** A record after a write; with access rules, the part that the caller may read. */
export const writtenRecord = (resource: DescribedResource): Schema =>
  resource.hasRules ? shownRecord(resource) : schemaRef(schemaNames(resource).record);

/** The records of a list, which `fields` may limit to some members. */
export function listedRecords(resource: DescribedResource, lists: Version['lists']): Schema {
  const { record, partial } = schemaNames(resource);
  return arrayOf({ anyOf: [lists === 'keyset' ? linked(record) : schemaRef(record), schemaRef(partial)] });
}

/** A record with its links. */
const linked = (record: string): Schema => ({
  allOf: [schemaRef(record), objectOf({ _links: schemaRef('Links') })],
});

/** The members of `_included`; undefined: the collection has no relations. */
function relatedRecords(resource: DescribedResource): Schema | undefined {
  const { related } = resource;
  const properties = Object.fromEntries(
    related.map(({ name, collection, isMany }): [string, Schema] => {
      const of = derivedNames(resource.types.of(collection), '');
      const record = { anyOf: [schemaRef(of.record), schemaRef(of.partial)] };
      return [name, isMany ? arrayOf(record) : { anyOf: [...record.anyOf, { type: 'null' }] }];
    }),
  );
  for (const { name, field } of related)
    if (field === undefined) properties[`${name}.count`] = { type: 'integer', minimum: 0 };
  if (Object.keys(properties).length === 0) return undefined;
  return { ...objectOf(properties, []), description: 'The related records that `include` names.' };
}
