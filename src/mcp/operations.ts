import type { IncomingHttpHeaders } from 'node:http';
import type { Operation } from '../actions/batch-operations.js';
import { JSON_TYPE } from '../collection/representation.js';
import type { Json, JsonObject } from '../json.js';

/** Makes the request of a tool from its arguments, which have been checked. `path` is that of the collection. */
type OperationOf = (args: JsonObject) => Operation;

const MERGE_PATCH = 'application/merge-patch+json';

export const listOf =
  (path: string): OperationOf =>
  (args) => ({ method: 'GET', path: `${path}?${queryOf(args)}`, headers: READ, body: undefined });

export const getOf =
  (path: string): OperationOf =>
  ({ id }) => ({ method: 'GET', path: pathOf(path, id!), headers: READ, body: undefined });

export const createOf =
  (path: string): OperationOf =>
  ({ record, ...args }) => ({
    method: 'POST',
    path,
    headers: headersOf(args, JSON_TYPE),
    body: record,
  });

export const updateOf =
  (path: string): OperationOf =>
  ({ id, patch, ...args }) => ({
    method: 'PATCH',
    path: pathOf(path, id!),
    headers: headersOf(args, MERGE_PATCH),
    body: patch,
  });

export const deletionOf =
  (path: string): OperationOf =>
  ({ id, ...args }) => ({
    method: 'DELETE',
    path: pathOf(path, id!),
    headers: headersOf(args),
    body: undefined,
  });

const READ: IncomingHttpHeaders = { accept: JSON_TYPE };

const pathOf = (path: string, id: Json) => `${path}/${encodeURIComponent(id as string)}`;

function headersOf({ ifMatch, idempotencyKey }: JsonObject, type?: string): IncomingHttpHeaders {
  return {
    ...READ,
    ...(type === undefined ? {} : { 'content-type': type }),
    ...(ifMatch === undefined ? {} : { 'if-match': etagOf(ifMatch as string | number) }),
    ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey as string }),
  };
}

/** A version as a number, or without the quotes of an ETag, means the ETag. */
const etagOf = (match: string | number): string =>
  /^\d+$/.test(String(match)) ? `"${match}"` : String(match);

function queryOf({ page, limit, sort, search, filter, fields, include, count }: JsonObject): URLSearchParams {
  const query = new URLSearchParams({ page: String(page), limit: String(limit) });
  if (sort !== undefined) setSort(query, sort as string[]);
  if (search !== undefined) query.set('search', search as string);
  for (const [field, operators] of Object.entries((filter ?? {}) as JsonObject))
    for (const [operator, value] of Object.entries(operators as JsonObject))
      addCondition(query, field, operator, value);
  if (fields !== undefined) query.set('fields', (fields as string[]).join(','));
  if (include !== undefined) query.set('include', (include as string[]).join(','));
  if (count === 'none') query.set('count', 'none');
  return query;
}

/** A single key is a parameter of its own kind. */
function setSort(query: URLSearchParams, keys: readonly string[]): void {
  const [first = ''] = keys;
  if (keys.length > 1) return query.set('sort', keys.join(','));
  query.set('sort', first.replace(/^-/, ''));
  query.set('order', first.startsWith('-') ? 'desc' : 'asc');
}

function addCondition(query: URLSearchParams, field: string, operator: string, value: Json): void {
  const values = Array.isArray(value) ? value : [value];
  // A list of one value would be split at its commas.
  const name = operator === 'in' && values.length === 1 ? 'eq' : operator;
  for (const each of values) query.append(`filter[${field}][${name}]`, String(each));
}
