import { relationsOf } from '../collection/extended-query.js';
import { operatorsOf } from '../collection/filter.js';
import { MAX_LIMIT, MAX_SEARCH } from '../collection/list-query.js';
import type { Resource } from '../collection/resource.js';
import type { JsonObject } from '../json.js';
import type { Version } from '../versions/version.js';
import { requestFields } from './headers.js';
import { type OperationDescription, type Schema, schemaRef } from './model.js';

const PATH_PARAMETERS: Readonly<Record<string, Schema>> = {
  id: { type: 'string', maxLength: 255 },
  code: { type: 'string', pattern: '^[A-Z_]+$' },
  delivery: { type: 'string', pattern: '^[0-9]+$' },
};

/** The parameters of an operation: of its path, of its query, and its header fields. */
export function parametersOf(
  path: string,
  names: readonly string[],
  { query = {}, fields = [] }: OperationDescription,
  resource: Resource | undefined,
  version: Version,
): JsonObject[] {
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name: name!,
    in: 'path',
    required: true,
    schema: PATH_PARAMETERS[name!] ?? { type: 'string' },
  }));
  const known = resource ? listParameters(resource, version) : {};
  const inQuery = names
    .filter((name) => known[name] !== undefined || query[name] !== undefined)
    .map((name) => known[name] ?? { name, in: 'query', schema: query[name]! });
  const supported = requestFields(version);
  const headers = ['API-Version', ...fields].map((name) => supported[name]!);
  return [...inPath, ...inQuery, ...headers];
}

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
  const { sortable, schema, writeOnly } = resource;
  const sorts = ['created_at', ...sortable].flatMap((field) => [field, `-${field}`]);
  const shown = Object.keys(schema.properties).filter((name) => !writeOnly.includes(name));
  return {
    page: plain('page', 'The number of the page.', { type: 'integer', minimum: 1, default: 1 }),
    limit: plain('limit', 'Records of a page.', {
      type: 'integer',
      minimum: 1,
      maximum: MAX_LIMIT,
      default: 20,
    }),
    sort: listOf('Fields to sort by; with a minus, falling.', 'sort', sorts),
    order: plain('order', 'The direction of a single sort field.', { type: 'string', enum: ['asc', 'desc'] }),
    search: plain('search', 'Text that a searched field contains.', {
      type: 'string',
      maxLength: MAX_SEARCH,
    }),
    q: plain('q', 'As `search`, in the words of json-server.', { type: 'string' }),
    filter: filterParameter(resource),
    fields: listOf(
      'The fields to show. Other members are absent, also those that the schema requires.',
      'fields',
      shown,
    ),
    include: listOf('Related records, which are members of `_included`.', 'include', relationsOf(resource)),
    ...(lists === 'keyset' ? KEYSET_PARAMETERS : { count: COUNT }),
  };
}

/** `filter[price][gte]=10`. */
function filterParameter(resource: Resource): JsonObject {
  const properties = [...operatorsOf(resource)].map(([field, operators]): [string, JsonObject] => {
    const byOperator = Object.fromEntries(operators.map((operator) => [operator, schemaRef('FilterValue')]));
    const value = operators.includes('eq') ? [schemaRef('FilterValue')] : [];
    return [field, { anyOf: [...value, { type: 'object', properties: byOperator }] }];
  });
  return {
    name: 'filter',
    in: 'query',
    description: 'Conditions: `filter[price][gte]=10`, or `filter[title]=Dune` for equality.',
    style: 'deepObject',
    explode: true,
    schema: { type: 'object', properties: Object.fromEntries(properties), additionalProperties: false },
  };
}
