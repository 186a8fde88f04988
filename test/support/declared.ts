import type { JsonObject } from '../../src/json.js';

/** A text by which lists are filtered and sorted. */
export const text: JsonObject = { type: 'string', 'x-index': true };

/** The grant of everything to callers with the scope admin. */
export const ADMIN: JsonObject = { can: 'all', scope: 'admin' };

/** A field with the id of a record of a collection; by default a record is deleted with the one to which it refers. */
export const reference = (to: string, onDelete = 'cascade'): JsonObject => ({
  type: 'string',
  'x-references': to,
  'x-on-delete': onDelete,
});

/** The declaration of a collection. */
export const declared = (properties: object, options?: object, more: object = {}): JsonObject => ({
  type: 'object',
  properties: properties as JsonObject,
  ...(options && { 'x-collection': options as JsonObject }),
  ...more,
});

/** The declaration of a collection with access rules. */
export const withAccess = (
  properties: object,
  access: readonly object[],
  options: object = {},
  more: object = {},
): JsonObject => declared(properties, { access, ...options }, more);
