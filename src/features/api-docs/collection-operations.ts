import { notFoundCode } from '../../errors/record-errors.js';
import {
  type Descriptions,
  type ErrorRef,
  error,
  type OperationDescription,
  type Schema,
  type Success,
  schemaRef,
} from './model.js';
import {
  type CollectionSettings,
  created,
  IDEMPOTENT,
  Names,
  notModified,
  read,
  readFields,
  writeErrors,
} from './record-operations.js';
import { listedRecords, schemaNames } from './record-schemas.js';
import type { DescribedResource } from './type-names.js';
import { bulk, remove, write } from './write-operations.js';

const JSON_TYPE = 'application/json';
const text = { type: 'string' } as const;

/** The operations of a collection: on its list, on one record, and on its records below a parent. */
export function collectionOperations(
  resource: DescribedResource,
  settings: CollectionSettings,
): Descriptions {
  const names = new Names(resource);
  const { list, record } = names;
  return {
    ...listOperations(resource, settings, names, { path: `/${list}`, id: record.many, what: `all ${list}` }),
    [`PATCH /${list}`]: bulk(resource, settings, names, 'PATCH'),
    [`DELETE /${list}`]: bulk(resource, settings, names, 'DELETE'),
    [`GET /${list}/:id`]: compatible(read(resource, settings, names), settings),
    [`PUT /${list}/:id`]: compatible(write(resource, settings, names, 'PUT'), settings),
    [`PATCH /${list}/:id`]: compatible(write(resource, settings, names, 'PATCH'), settings),
    [`DELETE /${list}/:id`]: compatible(remove(resource, settings, names), settings),
    ...nestedOperations(resource, settings, names),
  };
}

/** An operation on one record, with the responses of json-server if the operator wants these. */
function compatible(
  operation: OperationDescription,
  { isJsonServer }: CollectionSettings,
): OperationDescription {
  if (!isJsonServer) return operation;
  const { 204: deleted, ...success } = operation.success;
  const content = { type: 'object' } as const;
  const empty = { content: { [JSON_TYPE]: content, 'application/problem+json': content } };
  const isDeletion = Object.keys(success).length === 0;
  const found = isDeletion ? { 200: { description: deleted!.description, ...empty } } : operation.success;
  return {
    ...operation,
    success: { ...found, 404: { description: 'There is no such record.', ...empty } },
  };
}

/** The operations on a list: below a parent, or of all records. */
function listOperations(
  resource: DescribedResource,
  settings: CollectionSettings,
  { list, record }: Names,
  { path, id, what }: { path: string; id: string; what: string },
  errors: readonly ErrorRef[] = [],
): Descriptions {
  const success = { 200: listSuccess(resource, settings), 304: notModified };
  const reading = [
    ...errors,
    error('PRECONDITION_FAILED'),
    error('QUERY_TIMEOUT'),
    error('RESPONSE_TOO_LARGE'),
  ];
  const shared = {
    tag: list,
    success,
    errors: [
      ...reading,
      error('INVALID_QUERY'),
      ...(settings.version.lists === 'keyset' ? [error('INVALID_CURSOR')] : []),
    ],
  };
  const { input } = schemaNames(resource);
  return {
    [`GET ${path}`]: { ...shared, id: `list${id}`, summary: `List ${what}`, fields: readFields(settings) },
    [`QUERY ${path}`]: {
      ...shared,
      id: `query${id}`,
      summary: `List ${what} that a query in the body selects (RFC 10008)`,
      body: { [JSON_TYPE]: schemaRef('Query') },
      success: {
        200: { ...success[200], headers: [...success[200].headers!, 'Location', 'Accept-Query'] },
        304: { ...success[304], headers: [...success[304].headers!, 'Location', 'Accept-Query'] },
      },
      fields: readFields(settings),
    },
    [`POST ${path}`]: {
      id: `create${id === record.many ? record.one : id}`,
      tag: list,
      summary: `Create a record of ${list}`,
      body: { [JSON_TYPE]: schemaRef(input) },
      success: { 201: created(resource) },
      errors: [...errors, ...writeErrors(resource), ...IDEMPOTENT],
      fields: ['Idempotency-Key', 'Prefer-return'],
    },
  };
}

function nestedOperations(
  resource: DescribedResource,
  settings: CollectionSettings,
  names: Names,
): Descriptions {
  const { parent } = resource;
  if (!parent) return {};
  const missing: ErrorRef = { status: 404, code: notFoundCode(parent.singular), shape: 'envelope' };
  const id = `${names.record.many}Of${resource.types.of(parent.to)}`;
  const path = `/${parent.to}/:id/${names.list}`;
  const what = `the ${names.list} of one ${parent.singular}`;
  return listOperations(resource, settings, names, { path, id, what }, [missing]);
}

const LIST_HEADERS = ['ETag', 'Cache-Control', 'Link', 'X-Total-Count'];

function listSuccess(resource: DescribedResource, settings: CollectionSettings): Success {
  const { hasEvents, version } = settings;
  const { description, schema } =
    version.lists === 'keyset'
      ? { description: 'A page.', schema: schemaRef(schemaNames(resource).page) }
      : numberedList(resource, settings);
  return {
    description,
    content: { [JSON_TYPE]: schema, 'text/html': text, 'text/csv': text, 'application/x-ndjson': text },
    headers: [...LIST_HEADERS, ...(hasEvents ? ['Events-Cursor'] : [])],
  };
}

function numberedList(
  resource: DescribedResource,
  { isJsonServer }: CollectionSettings,
): { description: string; schema: Schema } {
  const { page } = schemaNames(resource);
  const array = listedRecords(resource, 'numbered');
  const isPage = resource.list === 'page' && !isJsonServer;
  const { sortable, searchable } = resource;
  // With `sort`, `order` or `search` and without `page` or `limit`, the specification asks for an array.
  const isAlwaysPage = isPage && sortable.length === 0 && searchable.length === 0;
  const schema = isAlwaysPage ? schemaRef(page) : { anyOf: [schemaRef(page), array] };
  return {
    description: isPage
      ? 'A page. With `sort`, `order` or `search`, but without `page` and `limit`, all records as an array.'
      : 'All records as an array, or a page if the query has `page`, `limit`, `filter`, `fields`, `include` or `count`.',
    schema,
  };
}
