import type { Doc } from '../../api/doc.js';
import { ref, type Schema } from '../../api/schema.js';
import type { Resource } from '../../collection/resource.js';
import type { JsonObject } from '../../json.js';
import {
  type ComparedColumn,
  comparedColumn,
  LIST_OPERATORS,
  type Operator,
  OWN_COLUMNS,
  operatorsOf,
} from '../../list/condition.js';
import { MAX_VALUES } from '../../list/filter-values.js';
import { MAX_LIMIT } from '../../list/list-request.js';
import { conditionName, escapeName } from '../../list/query-names.js';
import { aggregatesOf, groupKeys } from '../../list/read-groups.js';
import { MAX_SEARCH } from '../../list/read-search.js';
import { sortKeysOf, sortNames } from '../../list/read-sort.js';
import { relationsOf } from '../../list/relations.js';
import { searchMeaning } from '../../list/words.js';
import type { Version } from '../../versions/supported.js';
import { requestFields } from './headers.js';
import { typeName } from './model.js';
import type { DescribedResource } from './type-names.js';

const PATH_PARAMETERS: Readonly<Record<string, Schema>> = {
  id: { type: 'string', maxLength: 255 },
  code: { type: 'string', pattern: '^[A-Z_]+$' },
  delivery: { type: 'string', pattern: '^[0-9]+$' },
};

/** The parameters of an operation: of its path, of its query, and its header fields. */
export function parametersOf(
  path: string,
  names: readonly string[],
  { query = {}, fields = [] }: Doc,
  resource: DescribedResource | undefined,
  version: Version,
): JsonObject[] {
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name: name!,
    in: 'path',
    required: true,
    schema: PATH_PARAMETERS[name!] ?? { type: 'string' },
  }));
  const known = resource ? listParameters(resource, version) : {};
  const inQuery = names.flatMap((name): JsonObject[] => {
    if (resource && name === 'filter') return filterReferences(resource);
    const schema = query[name];
    return known[name] ? [known[name]] : schema ? [{ name, in: 'query', ...styleOf(schema), schema }] : [];
  });
  const supported = requestFields(version);
  const headers = ['API-Version', ...fields].map((name) => supported[name]!);
  return [...inPath, ...inQuery, ...headers];
}

/** An object is a parameter for each of its members: `filter[price]`. */
const styleOf = ({ type }: JsonObject): JsonObject =>
  type === 'object' ? { style: 'deepObject', explode: true } : {};

const listOf = (description: string, name: string, values: readonly string[]): JsonObject => ({
  name,
  in: 'query',
  description,
  style: 'form',
  explode: false,
  schema: {
    type: 'array',
    items: values.length === 0 ? { type: 'string' } : { type: 'string', enum: [...values] },
  },
});

const namesOf = (names: readonly string[]) =>
  names.length === 0 ? 'none' : names.map((name) => `\`${name}\``).join(', ');

const plain = (name: string, description: string, rules: Schema): JsonObject => ({
  name,
  in: 'query',
  description,
  schema: rules,
});

const COUNT = plain('count', 'Whether the page has a total.', {
  type: 'string',
  enum: ['exact', 'none'],
  default: 'exact',
});

const KEYSET_PARAMETERS: Readonly<Record<string, JsonObject>> = {
  after: plain('after', 'The cursor after which the page begins, from `links.next`.', { type: 'string' }),
  before: plain('before', 'The cursor before which the page ends, from `links.prev`.', { type: 'string' }),
  count: plain('count', '`exact`: the page has a total.', { type: 'string', enum: ['exact'] }),
};

/** The parameters of a collection's list. */
function listParameters(resource: Resource, { lists }: Version): Readonly<Record<string, JsonObject>> {
  const { schema, writeOnly } = resource;
  const fields = sortNames(resource).map(escapeName);
  const hasOneSort = resource.hasOneSort && lists !== 'keyset';
  const shown = Object.keys(schema.properties).filter((name) => !writeOnly.includes(name));
  return {
    page: plain('page', 'The number of the page.', { type: 'integer', minimum: 1, default: 1 }),
    limit: plain('limit', 'Records of a page.', {
      type: 'integer',
      minimum: 1,
      maximum: MAX_LIMIT,
      default: 20,
    }),
    sort: hasOneSort
      ? plain('sort', 'The field to sort by.', { type: 'string', enum: fields })
      : listOf('Fields to sort by; with a minus, falling.', 'sort', sortKeysOf(resource, escapeName)),
    order: plain('order', 'The direction of a single sort field.', { type: 'string', enum: ['asc', 'desc'] }),
    search: plain(
      'search',
      resource.words.length > 0 ? searchMeaning(resource) : 'Text that a searched field contains.',
      { type: 'string', maxLength: MAX_SEARCH },
    ),
    excerpts: plain('excerpts', 'Whether `_excerpts` has the parts in which words are found, as HTML.', {
      type: 'boolean',
      default: false,
    }),
    q: plain('q', 'As `search`, in the words of json-server.', { type: 'string' }),
    fields: listOf(
      'The fields to show. Other members are absent, also those that the schema requires.',
      'fields',
      shown.map(escapeName),
    ),
    include: listOf(
      `Related records, which are members of \`_included\`: ${namesOf(relationsOf(resource).map(escapeName))}. After a dot follow those that are related to these, or \`count\` for their number.`,
      'include',
      [],
    ),
    group: listOf(
      'The response has groups of records that have these values in common. `filter`, `search`, `sort` and `limit` can be combined with it.',
      'group',
      groupKeys(resource).map(({ name }) => escapeName(name)),
    ),
    aggregate: listOf(
      'The values of each group, or without `group` of all records.',
      'aggregate',
      aggregatesOf(resource).map(({ name }) => escapeName(name)),
    ),
    ...(lists === 'keyset' ? KEYSET_PARAMETERS : { count: COUNT }),
  };
}

/**
 * The parameters that filter a list by a declared field, or with `areOwn` by those of all records, each of its own type, since
 * most generated clients cannot send nested objects.
 */
const filterParameters = (resource: Resource, areOwn = false): JsonObject[] =>
  [...operatorsOf(resource)].flatMap(([field, operators]) => {
    if (OWN_COLUMNS.has(field) !== areOwn) return [];
    const whole = valueSchema(comparedColumn(resource, field)!);
    const schemaOf = (operator: Operator): Schema => {
      if (operator === 'between') return { type: 'array', items: whole, minItems: 2, maxItems: 2 };
      if (LIST_OPERATORS.has(operator))
        return { type: 'array', items: whole, minItems: 1, maxItems: MAX_VALUES };
      if (operator === 'null') return { type: 'boolean' };
      return operator === 'prefix' || operator === 'contains' ? { type: 'string' } : whole;
    };
    return operators.map((operator) => ({
      name: conditionName(field, operator),
      in: 'query',
      description: MEANINGS[operator],
      ...(LIST_OPERATORS.has(operator) ? { style: 'form', explode: true } : {}),
      schema: schemaOf(operator),
    }));
  });

const MEANINGS: Readonly<Record<Operator, string>> = {
  eq: 'The field has this value.',
  ne: 'The field has another value.',
  lt: 'The field is less.',
  lte: 'The field is less or equal.',
  gt: 'The field is greater.',
  gte: 'The field is greater or equal.',
  between: 'The field is at least the first value and at most the second.',
  in: 'The field has one of these values. A value alone is split at its commas.',
  nin: 'The field has a value, and none of these. A value alone is split at its commas.',
  has: 'The array contains this value.',
  any: 'The array contains one of these values. A value alone is split at its commas.',
  prefix: 'The text begins so.',
  contains: 'The text contains this, in any letter case.',
  null: '`true`: the field is missing; `false`: it is not.',
};

function valueSchema({ type, format }: ComparedColumn): Schema {
  const plain = type.replace('[]', '');
  if (plain === 'double precision') return { type: 'number' };
  if (plain === 'boolean') return { type: 'boolean' };
  if (plain === 'uuid') return { type: 'string', format: 'uuid' };
  return format === undefined ? { type: 'string' } : { type: 'string', format };
}

/** The parameters that filter a list by its declared fields, by the names of their components. */
export function filterComponents(resource: DescribedResource): Record<string, JsonObject> {
  return componentsOf(resource.types.one, filterParameters(resource));
}

/** The parameters that filter any list by the members of all records, by the names of their components. */
export const ownFilterComponents = (resource: Resource): Record<string, JsonObject> =>
  componentsOf('', filterParameters(resource, true));

function componentsOf(type: string, parameters: readonly JsonObject[]): Record<string, JsonObject> {
  const components = parameters.map((parameter, index): [string, JsonObject] => [
    // The number distinguishes fields whose names have the same letters.
    `${type}Filter${index + 1}${typeName(String(parameter.name).slice('filter'.length))}`,
    parameter,
  ]);
  return Object.fromEntries(components);
}

const filterReferences = (resource: DescribedResource): JsonObject[] =>
  Object.keys({ ...filterComponents(resource), ...ownFilterComponents(resource) }).map((name) =>
    ref('parameters', name),
  );
