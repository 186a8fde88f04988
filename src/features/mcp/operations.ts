import type { Operation } from '../../actions/operation-step.js';
import type { Resource } from '../../collection/resource.js';
import { JSON_TYPE, MERGE_PATCH } from '../../http/media-types.js';
import type { Json, JsonObject } from '../../json.js';
import { parametersOfBody } from '../../list/body-values.js';
import { COMBINATIONS } from '../../list/query-names.js';

/** Makes the request of a tool from its arguments, which have been checked. `path` is that of the collection. */
type OperationOf = (args: JsonObject) => Operation;

export const listOf =
  (path: string): OperationOf =>
  (args) =>
    operation('QUERY', path, {}, queryOf(args));

/** The arguments are the members of the query. Without a group, all records are one. */
export const groupOf =
  (path: string): OperationOf =>
  (args) =>
    operation('QUERY', path, {}, { group: [], ...args });

export const getOf =
  (path: string, resource: Resource): OperationOf =>
  ({ id, ...view }) =>
    operation('GET', withQuery(pathOf(path, id!), view, resource), {});

export const createOf =
  (path: string): OperationOf =>
  ({ record, ...args }) =>
    operation('POST', path, args, record);

/** The values of the key are the filter. */
export const upsertOf =
  (path: string, resource: Resource): OperationOf =>
  ({ key, record, ...args }) => {
    const values = Object.entries(key as JsonObject);
    const filter = Object.fromEntries(values.map(([field, value]) => [memberOf(field), value]));
    return operation('PUT', withQuery(path, { filter }, resource), args, record);
  };

/** The member of a filter for a field. */
const memberOf = (field: string): string => (COMBINATIONS.has(field) ? `\\${field}` : field);

export const updateOf =
  (path: string): OperationOf =>
  ({ id, patch, ...args }) =>
    operation('PATCH', pathOf(path, id!), args, patch, MERGE_PATCH);

export const deletionOf =
  (path: string): OperationOf =>
  ({ id, ...args }) =>
    operation('DELETE', pathOf(path, id!), args);

const pathOf = (path: string, id: Json) => `${path}/${encodeURIComponent(id as string)}`;

const withQuery = (path: string, query: JsonObject, resource: Resource) =>
  `${path}?${String(parametersOfBody(query, resource))}`;

function operation(
  method: string,
  path: string,
  { ifMatch, idempotencyKey }: JsonObject,
  body?: Json,
  type = JSON_TYPE,
): Operation {
  const headers = {
    accept: JSON_TYPE,
    ...(body === undefined ? {} : { 'content-type': type }),
    ...(ifMatch === undefined ? {} : { 'if-match': etagOf(ifMatch as string | number) }),
    ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey as string }),
  };
  return { method, path, headers, body };
}

/** A version as a number, or without the quotes of an ETag, means the ETag. */
const etagOf = (match: string | number): string =>
  /^\d+$/.test(String(match)) ? `"${match}"` : String(match);

/** The body of the query: the arguments, whose names are as a body has them. */
const queryOf = ({ count, ...args }: JsonObject): JsonObject => ({
  ...args,
  ...(count === 'none' ? { count } : {}),
});
