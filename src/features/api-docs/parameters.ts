import { type Doc, ref, type Schema } from '../../api/doc.js';
import type { JsonObject } from '../../json.js';
import { MAX_LIMIT, MAX_SEARCH } from '../../list/list-request.js';
import { escapeName } from '../../list/query-names.js';
import { aggregatesOf, groupKeys } from '../../list/read-groups.js';
import { sortKeysOf, sortNames } from '../../list/read-sort.js';
import type { Version } from '../../versions/supported.js';
import { searchMeaning } from './described-schema.js';
import { requestFields } from './headers.js';
import type { DescribedResource } from './type-names.js';

const PATH_PARAMETERS: Readonly<Record<string, Schema>> = {
  id: { type: 'string', maxLength: 255 },
  code: { type: 'string', pattern: '^[A-Z_]+$' },
  delivery: { type: 'string', pattern: '^[0-9]+$' },
};

/** The subject of parameters: an operation. */
export interface Parametrized {
  readonly path: string;
  /** The names of its query parameters. */
  readonly names: readonly string[];
  readonly description: Doc;
  /** The collection that it is about. */
  readonly resource: DescribedResource | undefined;
  /** The names of the components that are its conditions. */
  readonly filters: readonly string[];
  readonly version: Version;
}

/** The parameters of an operation: of its path, of its query, and its header fields. */
export function parametersOf({
  path,
  names,
  description: { query = {}, fields = [] },
  resource,
  filters,
  version,
}: Parametrized): JsonObject[] {
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name: name!,
    in: 'path',
    required: true,
    schema: PATH_PARAMETERS[name!] ?? { type: 'string' },
  }));
  const known = resource ? knownParameters(resource, version) : {};
  const inQuery = names.flatMap((name): JsonObject[] => {
    if (resource && name === 'filter') return filters.map((each) => ref('parameters', each));
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
  count: plain('count', '`exact`: the page has a total.', { type: 'string', enum: ['exact', 'none'] }),
};

/** The parameters of a collection's list. */
function knownParameters(
  resource: DescribedResource,
  { lists }: Version,
): Readonly<Record<string, JsonObject>> {
  const { schema, writeOnly } = resource;
  const fields = sortNames(resource).map(escapeName);
  const hasOneSort = resource.hasTolerantLists && lists !== 'keyset';
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
    order: plain('order', 'The direction of a single sort field that has no minus.', {
      type: 'string',
      enum: ['asc', 'desc'],
    }),
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
      `Related records, which are members of \`_included\`: ${namesOf(resource.related.map(({ name }) => escapeName(name)))}. After a dot follow those that are related to these, or \`count\` for their number.`,
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
