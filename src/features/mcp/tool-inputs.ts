import { canSearch, type Resource, writableKeys } from '../../collection/resource.js';
import type { SchemaFiles } from '../../declarations/schema-files.js';
import type { JsonObject } from '../../json.js';
import { MAX_LIMIT } from '../../list/list-request.js';
import { MAX_INCLUDES } from '../../list/read-fields-and-includes.js';
import { aggregatesOf, groupKeys, MAX_AGGREGATES, MAX_GROUPS, MAX_KEYS } from '../../list/read-groups.js';
import { listParameters } from '../../list/read-list.js';
import { sortKeysOf } from '../../list/read-sort.js';
import { relationsOf } from '../../list/relations.js';
import { searchMeaning } from '../api-docs/described-schema.js';
import { SchemaWriter } from './schema-writer.js';
import { filterOf } from './tool-filter.js';

/** JSON Schema of a tool's arguments. */
export interface ToolInput {
  readonly [keyword: string]: unknown;
  readonly type: 'object';
  readonly properties: JsonObject;
  readonly required: string[];
  readonly additionalProperties: false;
}

const ID: JsonObject = { type: 'string', minLength: 1, maxLength: 100, description: 'The id of the record.' };

const IF_MATCH: JsonObject = {
  type: ['string', 'integer'],
  minimum: 1,
  maxLength: 200,
  description:
    'The etag or _version of the record as it was read. If the record has changed since, nothing is written and the error contains the current record.',
};

const IDEMPOTENCY_KEY: JsonObject = {
  type: 'string',
  minLength: 1,
  maxLength: 200,
  pattern: '^[!#-\\[\\]-~]+$',
  description: 'Any unique text. Repeat a call of unknown outcome with the same key: it takes place once.',
};

export const deleteInput = (requiresMatch: boolean): ToolInput =>
  inputOf({ id: ID, ifMatch: IF_MATCH }, ['id', ...(requiresMatch ? ['ifMatch'] : [])]);

export function createInput(resource: Resource, files: SchemaFiles): ToolInput {
  const writer = new SchemaWriter(files);
  const { input } = writer.schemasOf(resource, '#/properties/record');
  return inputOf({ record: input, idempotencyKey: IDEMPOTENCY_KEY }, ['record'], writer.defs);
}

/** The record with the values of one of the unique keys. */
export function upsertInput(resource: Resource, files: SchemaFiles): ToolInput {
  const writer = new SchemaWriter(files);
  const keys = writableKeys(resource).map((fields) => fields.join(' and '));
  const key: JsonObject = {
    type: 'object',
    minProperties: 1,
    maxProperties: 5,
    additionalProperties: { type: ['string', 'number', 'boolean'] },
    description: `One value of each field of a unique key: ${keys.join(', or ')}.`,
  };
  const record: JsonObject = {
    ...writer.schemasOf(resource, '#/properties/record').input,
    description: 'The whole record. Fields of the key that it lacks have the values of the key.',
  };
  return inputOf(
    { key, record, ifMatch: IF_MATCH, idempotencyKey: IDEMPOTENCY_KEY },
    ['key', 'record'],
    writer.defs,
  );
}

export function updateInput(resource: Resource, files: SchemaFiles, requiresMatch: boolean): ToolInput {
  const writer = new SchemaWriter(files);
  const patch: JsonObject = {
    description: 'Fields to change. Null removes a field, an object changes only the fields that it has.',
    ...writer.schemasOf(resource, '#/properties/patch').patch,
    minProperties: 1,
  };
  const required = ['id', 'patch', ...(requiresMatch ? ['ifMatch'] : [])];
  return inputOf(
    { id: ID, patch, ifMatch: IF_MATCH, idempotencyKey: IDEMPOTENCY_KEY },
    required,
    writer.defs,
  );
}

export const getInput = (resource: Resource): ToolInput => inputOf({ id: ID, ...viewOf(resource) }, ['id']);

/** The arguments that select a part of each record. */
function viewOf(resource: Resource): JsonObject {
  const relations = relationsOf(resource);
  return {
    fields: {
      type: 'array',
      minItems: 1,
      maxItems: 50,
      items: { type: ['string', 'object'], minLength: 1, additionalProperties: { type: 'array' } },
      description:
        'The fields of each record; without it, all. {"relation": ["field"]} has those of included records.',
    },
    ...(relations.length > 0
      ? {
          include: {
            type: 'array',
            minItems: 1,
            maxItems: MAX_INCLUDES,
            items: { type: 'string', minLength: 1 },
            description: `Related records of each record: ${relations.join(', ')}; after a dot, those that are related to them, or with "count" the number of records that refer to this one.`,
          },
        }
      : {}),
  };
}

/** The parameters of the list that the collection has. */
export function listInput(resource: Resource): ToolInput {
  const parameters = listParameters(resource);
  const keys = sortKeysOf(resource);
  return inputOf({
    page: { type: 'integer', minimum: 1, default: 1 },
    limit: {
      type: 'integer',
      minimum: 1,
      maximum: MAX_LIMIT,
      default: 20,
      description: 'Records of a page.',
    },
    ...(parameters.includes('sort') ? { sort: listOf(keys, 5, 'A leading minus: descending.') } : {}),
    ...selectionOf(resource),
    ...viewOf(resource),
    ...(resource.words.length > 0
      ? {
          excerpts: {
            type: 'boolean',
            description:
              'true: _excerpts has the parts in which words are found, with <mark> around each word.',
          },
        }
      : {}),
    count: {
      enum: ['exact', 'none'],
      default: 'exact',
      description: 'none: without the total, which is faster.',
    },
  });
}

/** The groups of the records of a collection. */
export function groupInput(resource: Resource): ToolInput {
  const keys = groupKeys(resource).map(({ name }) => name);
  const aggregates = aggregatesOf(resource).map(({ name }) => name);
  return inputOf({
    group: listOf(keys, MAX_KEYS, 'The values that the records of a group have in common.'),
    aggregate: listOf(aggregates, MAX_AGGREGATES, 'The values of each group; without it, count.'),
    ...selectionOf(resource),
    ...(listParameters(resource).includes('sort')
      ? {
          sort: {
            type: 'array',
            minItems: 1,
            maxItems: MAX_KEYS + MAX_AGGREGATES,
            items: { type: 'string' },
            description: 'Names of group and aggregate. A leading minus: descending.',
          },
        }
      : {}),
    limit: {
      type: 'integer',
      minimum: 1,
      maximum: MAX_GROUPS,
      description: 'The most groups. Without it, more than the maximum are an error.',
    },
  });
}

/** The arguments that select records. */
function selectionOf(resource: Resource): JsonObject {
  return {
    ...(canSearch(resource) ? { search: { type: 'string', description: searchMeaning(resource) } } : {}),
    filter: {
      ...inputOf(filterOf(resource)),
      description:
        'Conditions that all apply: {"field": {"operator": value}}, or {"field": value} for equality; names of relations have conditions on related records.',
    } as JsonObject,
  };
}

const listOf = (values: readonly string[], maxItems: number, description: string): JsonObject => ({
  type: 'array',
  minItems: 1,
  maxItems,
  items: { enum: [...values] },
  description,
});

function inputOf(properties: JsonObject, required: string[] = [], defs: JsonObject = {}): ToolInput {
  return { type: 'object', properties, required, additionalProperties: false, ...defs };
}
