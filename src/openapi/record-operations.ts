import type { Resource } from '../collection/resource.js';
import { notFoundCode } from '../errors/errors.js';
import type { Code } from '../errors/problem.js';
import type { Version } from '../versions/version.js';
import {
  type ErrorRef,
  error,
  type OperationDescription,
  objectOf,
  type Success,
  schemaRef,
  typeName,
} from './model.js';
import { schemaNames } from './record-schemas.js';

/** The settings on which the responses of collections depend. */
export interface CollectionSettings {
  readonly tombstones: boolean;
  readonly requireIfMatch: boolean;
  /** Whether lists have the responses of json-server. */
  readonly isJsonServer: boolean;
  readonly hasEvents: boolean;
  /** The version that is described. */
  readonly version: Version;
}

const JSON_TYPE = 'application/json';
const text = { type: 'string' } as const;
export const CONDITIONS = ['If-Match', 'If-None-Match', 'If-Modified-Since', 'If-Unmodified-Since'];
const WRITE_FIELDS = ['If-Match', 'If-None-Match', 'If-Unmodified-Since', 'Prefer-return'];
export const IDEMPOTENT = [
  error('IDEMPOTENCY_KEY_IN_USE'),
  error('IDEMPOTENCY_KEY_REUSED'),
  error('STORED_RESPONSE_TOO_LARGE'),
];

/** What a collection is called. */
export class Names {
  readonly list: string;
  readonly record: { readonly one: string; readonly many: string; readonly word: string };

  constructor({ name, singular }: Resource) {
    this.list = name;
    this.record = { one: typeName(singular), many: typeName(name), word: singular };
  }
}

export const notModified: Success = {
  description: 'The client has the current representation.',
  headers: ['ETag', 'Last-Modified', 'Cache-Control', 'Events-Cursor', 'Link', 'X-Total-Count'],
};

/** What a record is shown as after a write. */
function shown(resource: Resource, description: string, more: readonly string[] = []): Success {
  return {
    description,
    content: { [JSON_TYPE]: schemaRef(schemaNames(resource).record) },
    headers: [
      'ETag',
      'Last-Modified',
      'Idempotency-Replayed',
      'Preference-Applied',
      'Events-Cursor',
      ...more,
    ],
  };
}

/** The response to a creation. */
export const created = (resource: Resource): Success =>
  shown(resource, 'The record; with `Prefer: return=minimal` without content.', ['Location']);

/** Errors of a body that cannot be stored. */
export function writeErrors({ unique, references }: Resource): ErrorRef[] {
  const duplicates = unique.map(({ code }): ErrorRef => ({ status: 409, code, shape: 'envelope' }));
  const missing = references.map(({ singular }): ErrorRef => {
    const code: Code = notFoundCode(singular);
    return { status: 422, code, shape: 'envelope' };
  });
  return [...duplicates, ...missing, error('VALIDATION_ERROR'), error('INSUFFICIENT_STORAGE')];
}

/** The 404 of a record, whose code only problem documents show. */
const missing = ({ singular }: Resource): ErrorRef => ({
  status: 404,
  code: notFoundCode(singular),
  shape: 'simple',
});

/** GET of one record. */
export function read(
  resource: Resource,
  { tombstones }: CollectionSettings,
  { list, record }: Names,
): OperationDescription {
  return {
    id: `get${record.one}`,
    tag: list,
    summary: `Show one ${record.word}`,
    success: {
      200: {
        description: 'The record.',
        content: {
          [JSON_TYPE]: schemaRef(schemaNames(resource).record),
          'text/html': text,
          'text/csv': text,
        },
        headers: ['ETag', 'Last-Modified', 'Cache-Control'],
      },
      304: notModified,
    },
    errors: [
      resource.absent === 'simple' ? missing(resource) : error('NOT_FOUND', 'empty'),
      error('PRECONDITION_FAILED'),
      ...(tombstones ? [error('GONE')] : []),
    ],
    fields: CONDITIONS,
  };
}

/** Errors of a write to one record. */
function guardErrors(resource: Resource, { tombstones, requireIfMatch }: CollectionSettings): ErrorRef[] {
  const isRequired = resource.requireIfMatch ?? requireIfMatch;
  return [
    error('PRECONDITION_FAILED'),
    ...(isRequired ? [error('PRECONDITION_REQUIRED')] : []),
    ...(tombstones ? [error('GONE')] : []),
  ];
}

const passwordErrors = ({ schema }: Resource): ErrorRef[] =>
  'password' in schema.properties
    ? [error('CURRENT_PASSWORD_REQUIRED'), error('CURRENT_PASSWORD_WRONG')]
    : [];

const PATCH_ERRORS = [error('PATCH_TEST_FAILED'), error('UNPROCESSABLE_PATCH')];

/** PUT and PATCH of one record. */
export function write(
  resource: Resource,
  settings: CollectionSettings,
  { list, record }: Names,
  method: 'PUT' | 'PATCH',
): OperationDescription {
  const { input } = schemaNames(resource);
  const isPatch = method === 'PATCH';
  return {
    id: `${isPatch ? 'update' : 'replace'}${record.one}`,
    tag: list,
    summary: isPatch ? `Change one ${record.word}` : `Replace one ${record.word}`,
    body: isPatch ? patchBody(resource) : { [JSON_TYPE]: schemaRef(input) },
    success: {
      200: shown(resource, 'The record after the write.'),
      204: {
        description: 'With `Prefer: return=minimal`.',
        headers: ['ETag', 'Last-Modified', 'Preference-Applied', 'Idempotency-Replayed'],
      },
    },
    errors: [
      missing(resource),
      error('VERSION_CONFLICT'),
      ...guardErrors(resource, settings),
      ...writeErrors(resource),
      ...passwordErrors(resource),
      ...(isPatch ? [...PATCH_ERRORS, ...IDEMPOTENT] : []),
    ],
    fields: [...WRITE_FIELDS, ...(isPatch ? ['Idempotency-Key'] : [])],
  };
}

const patchBody = (resource: Resource) => ({
  'application/merge-patch+json': schemaRef(schemaNames(resource).patch),
  'application/json-patch+json': schemaRef('JsonPatch'),
  [JSON_TYPE]: schemaRef(schemaNames(resource).patch),
});

/** The deletion of a record that is already deleted succeeds. */
const deletionErrors = (resource: Resource, settings: CollectionSettings): ErrorRef[] => [
  ...guardErrors(resource, { ...settings, tombstones: false }),
  ...(resource.referredBy.length > 0 ? [error('REFERENCED')] : []),
];

/** DELETE of one record. */
export function remove(
  resource: Resource,
  settings: CollectionSettings,
  { list, record }: Names,
): OperationDescription {
  return {
    id: `delete${record.one}`,
    tag: list,
    summary: `Delete one ${record.word}`,
    success: { 204: { description: 'The record does not exist (any more).' } },
    errors: deletionErrors(resource, settings),
    fields: WRITE_FIELDS.slice(0, 3),
  };
}

/** The same change of all records that match a filter. */
export function bulk(
  resource: Resource,
  settings: CollectionSettings,
  { list, record }: Names,
  method: 'PATCH' | 'DELETE',
): OperationDescription {
  const isPatch = method === 'PATCH';
  const ofOne = isPatch ? write(resource, settings, new Names(resource), 'PATCH') : undefined;
  return {
    id: `${isPatch ? 'updateMatching' : 'deleteMatching'}${record.many}`,
    tag: list,
    summary: `${isPatch ? 'Change' : 'Delete'} all ${list} that match the filter, at most 1,000, all or none`,
    ...(isPatch ? { body: patchBody(resource) } : {}),
    success: {
      200: {
        description: 'How many records matched.',
        content: { [JSON_TYPE]: objectOf({ meta: objectOf({ matched: { type: 'integer', minimum: 0 } }) }) },
        headers: ['Cache-Control', 'Idempotency-Replayed'],
      },
    },
    errors: [
      error('TOO_MANY_MATCHES'),
      error('METHOD_NOT_ALLOWED'),
      error('INVALID_QUERY'),
      error('UNKNOWN_PARAMETER'),
      error('QUERY_TIMEOUT'),
      ...(ofOne?.errors ?? deletionErrors(resource, settings)),
    ],
    fields: isPatch ? ['Idempotency-Key'] : [],
  };
}
