import {
  type Doc,
  type ErrorName,
  json,
  objectOf,
  type Schema,
  type Success,
  schemaRef,
  TEXT,
} from '../../api/doc.js';
import type { RecordMethod } from '../../api/endpoint.js';
import { writableKeys } from '../../collection/resource.js';
import { notFoundCode } from '../../errors/record-errors.js';
import { GROUPS_TYPE, JSON_TYPE } from '../../http/media-types.js';
import {
  type CollectionSettings,
  created,
  history,
  IDEMPOTENT,
  NOT_MODIFIED,
  patch,
  patchBody,
  read,
  readFields,
  remove,
  replace,
  writeErrors,
} from './record-operations.js';
import { listedRecords, schemaNames } from './record-schemas.js';
import { when } from './responses.js';
import type { DescribedResource } from './type-names.js';

/** A list: of all records, or of those of one parent. */
interface Target {
  /** The end of the ids of operations, and of that of a creation. */
  readonly id: string;
  readonly createdId: string;
  readonly what: string;
  readonly errors: readonly ErrorName[];
}

/** Describes one method on a list. */
type DescribeList = (resource: DescribedResource, settings: CollectionSettings, target: Target) => Doc;

const METHODS: Readonly<Record<RecordMethod, DescribeList>> = {
  list,
  query,
  create,
  listNested: list,
  queryNested: query,
  createNested: (...given) => compatible(create(...given), given[1]),
  upsert,
  patchMatching,
  removeMatching,
  get: (resource, settings) => compatible(read(resource, settings), settings),
  replace: (resource, settings) => compatible(replace(resource, settings), settings),
  patch: (resource, settings) => compatible(patch(resource, settings), settings),
  remove: (resource, settings) => compatible(remove(resource, settings), settings),
  history,
};

/** The description of a method on the records of a collection. */
export function recordOperation(
  method: RecordMethod,
  resource: DescribedResource,
  settings: CollectionSettings,
): Doc {
  const isNested = method.endsWith('Nested');
  return METHODS[method](resource, settings, isNested ? nestedTarget(resource) : wholeTarget(resource));
}

const wholeTarget = ({ name, types }: DescribedResource): Target => ({
  id: types.many,
  createdId: types.one,
  what: `all ${name}`,
  errors: [],
});

function nestedTarget({ name, types, parent }: DescribedResource): Target {
  const { to, singular } = parent!;
  const id = `${types.many}Of${types.of(to)}`;
  const errors: ErrorName[] = [[notFoundCode(singular), 'envelope', 404]];
  return { id, createdId: id, what: `the ${name} of one ${singular}`, errors };
}

/** An operation on one record, with the responses of json-server if the operator wants these. */
function compatible(doc: Doc, { isJsonServer }: CollectionSettings): Doc {
  if (!isJsonServer) return doc;
  const { 204: deleted, ...success } = doc.success;
  const content = { type: 'object' } as const;
  const empty = { content: { [JSON_TYPE]: content, 'application/problem+json': content } };
  const isDeletion = Object.keys(success).length === 0;
  const found = isDeletion ? { 200: { description: deleted!.description, ...empty } } : doc.success;
  return { ...doc, success: { ...found, 404: { description: 'There is no such record.', ...empty } } };
}

function list(resource: DescribedResource, settings: CollectionSettings, { id, what, errors }: Target): Doc {
  return {
    id: `list${id}`,
    tag: resource.name,
    summary: `List ${what}`,
    success: { 200: listSuccess(resource, settings), 304: NOT_MODIFIED },
    errors: [
      ...errors,
      'PRECONDITION_FAILED',
      'QUERY_TIMEOUT',
      'RESPONSE_TOO_LARGE',
      'TOO_MANY_GROUPS',
      'INVALID_QUERY',
      ...when(settings.version.lists === 'keyset', 'INVALID_CURSOR'),
    ],
    fields: readFields(settings),
  };
}

function query(resource: DescribedResource, settings: CollectionSettings, target: Target): Doc {
  const located = (success: Success): Success => ({
    ...success,
    headers: [...success.headers!, 'Location', 'Accept-Query'],
  });
  return {
    ...list(resource, settings, target),
    id: `query${target.id}`,
    summary: `List ${target.what} that a query in the body selects (RFC 10008)`,
    body: { [JSON_TYPE]: 'Query' },
    success: { 200: located(listSuccess(resource, settings)), 304: located(NOT_MODIFIED) },
  };
}

function create(resource: DescribedResource, _: CollectionSettings, { createdId, errors }: Target): Doc {
  return {
    id: `create${createdId}`,
    tag: resource.name,
    summary: `Create a record of ${resource.name}`,
    body: { [JSON_TYPE]: schemaNames(resource).input },
    success: { 201: created(resource) },
    errors: [...errors, ...writeErrors(resource), ...IDEMPOTENT],
    fields: ['Idempotency-Key', 'Prefer return'],
  };
}

function upsert(resource: DescribedResource, settings: CollectionSettings): Doc {
  const { success, errors, fields, ...rest } = replace(resource, settings);
  const keys = writableKeys(resource).map((names) => names.map((name) => `\`${name}\``).join(' and '));
  return {
    ...rest,
    id: `upsert${resource.types.one}`,
    body: { [JSON_TYPE]: schemaNames(resource).input },
    summary: `Replace the ${resource.singular} with a unique key, or create it. The filter has the key: ${keys.join(', or ')}`,
    success: { 201: created(resource), ...success },
    errors: [
      ...errors!.filter((each) => !isAbsence(each)),
      'METHOD_NOT_ALLOWED',
      'INVALID_QUERY',
      ...IDEMPOTENT,
    ],
    fields: [...new Set([...fields!, 'Idempotency-Key'])],
  };
}

/** Whether an error says that there is no record: then an upsert creates one. */
const isAbsence = (error: ErrorName): boolean =>
  error === 'GONE' || (Array.isArray(error) && error[2] === 404);

const MATCHED = objectOf({ meta: objectOf({ matched: { type: 'integer', minimum: 0 } }) });

/** The description of a change of all records that match a filter; `one`: the change of a single record. */
const matching = (verb: string, { name }: DescribedResource, one: Doc) => ({
  tag: name,
  summary: `${verb} all ${name} that match the filter, at most 10,000, all or none`,
  success: { 200: json('How many records matched.', MATCHED, ['Cache-Control', 'Idempotency-Replayed']) },
  errors: [
    'TOO_MANY_MATCHES',
    'METHOD_NOT_ALLOWED',
    'INVALID_QUERY',
    'QUERY_TIMEOUT',
    ...one.errors!,
  ] as ErrorName[],
});

function patchMatching(resource: DescribedResource, settings: CollectionSettings): Doc {
  return {
    ...matching('Change', resource, patch(resource, settings)),
    id: `updateMatching${resource.types.many}`,
    body: patchBody(resource),
    fields: ['If-Match any', 'Idempotency-Key'],
  };
}

function removeMatching(resource: DescribedResource, settings: CollectionSettings): Doc {
  return {
    ...matching('Delete', resource, remove(resource, settings)),
    id: `deleteMatching${resource.types.many}`,
    fields: ['If-Match any'],
  };
}

function listSuccess(resource: DescribedResource, settings: CollectionSettings): Success {
  const { hasEvents, version } = settings;
  const { description, schema } =
    version.lists === 'keyset'
      ? { description: 'A page.', schema: schemaRef(schemaNames(resource).page) }
      : numberedList(resource, settings);
  return {
    description,
    content: {
      [JSON_TYPE]: schema,
      [GROUPS_TYPE]: schemaRef('Groups'),
      'text/csv': TEXT,
      'application/x-ndjson': TEXT,
    },
    headers: ['ETag', 'Cache-Control', 'Link', 'X-Total-Count', ...(hasEvents ? ['Events-Cursor'] : [])],
  };
}

function numberedList(
  resource: DescribedResource,
  { isJsonServer }: CollectionSettings,
): { description: string; schema: Schema } {
  const { page } = schemaNames(resource);
  const array = listedRecords(resource, 'numbered');
  const isPage = resource.list === 'page' && !isJsonServer;
  // A tolerant list with `sort`, `order` or `search` and without `page` or `limit` is an array.
  const isAlwaysPage = isPage && !resource.hasTolerantLists;
  const schema = isAlwaysPage ? schemaRef(page) : { anyOf: [schemaRef(page), array] };
  return {
    description: isAlwaysPage
      ? 'A page.'
      : isPage
        ? 'A page. With `sort`, `order` or `search`, but without `page` and `limit`, all records as an array.'
        : 'All records as an array, or a page if the query has `page`, `limit`, `filter`, `fields`, `include` or `count`.',
    schema,
  };
}
