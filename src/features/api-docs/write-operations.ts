import { type ErrorRef, error, type OperationDescription, objectOf, schemaRef } from './model.js';
import {
  type CollectionSettings,
  IDEMPOTENT,
  JSON_TYPE,
  missing,
  Names,
  shown,
  writeErrors,
} from './record-operations.js';
import { schemaNames } from './record-schemas.js';
import type { DescribedResource } from './type-names.js';

const WRITE_FIELDS = ['If-Match', 'If-None-Match', 'If-Unmodified-Since', 'Prefer-return'];

/** Errors of a write to one record. */
function guardErrors(
  resource: DescribedResource,
  { tombstones, requireIfMatch }: CollectionSettings,
): ErrorRef[] {
  const isRequired = resource.requireIfMatch ?? requireIfMatch;
  return [
    error('PRECONDITION_FAILED'),
    ...(isRequired ? [error('PRECONDITION_REQUIRED')] : []),
    ...(tombstones ? [error('GONE')] : []),
  ];
}

const passwordErrors = ({ schema }: DescribedResource): ErrorRef[] =>
  'password' in schema.properties
    ? [error('CURRENT_PASSWORD_REQUIRED'), error('CURRENT_PASSWORD_WRONG'), error('PASSWORD_NOT_SET')]
    : [];

const PATCH_ERRORS = [error('PATCH_TEST_FAILED'), error('UNPROCESSABLE_PATCH')];

/** PUT and PATCH of one record. */
export function write(
  resource: DescribedResource,
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

const patchBody = (resource: DescribedResource) => ({
  'application/merge-patch+json': schemaRef(schemaNames(resource).patch),
  'application/json-patch+json': schemaRef('JsonPatch'),
  [JSON_TYPE]: schemaRef(schemaNames(resource).patch),
});

/** The deletion of a record that is already deleted succeeds. */
const deletionErrors = (resource: DescribedResource, settings: CollectionSettings): ErrorRef[] => [
  ...guardErrors(resource, { ...settings, tombstones: false }),
  ...(resource.referredBy.length > 0 ? [error('REFERENCED')] : []),
];

/** DELETE of one record. */
export function remove(
  resource: DescribedResource,
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
  resource: DescribedResource,
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
      error('QUERY_TIMEOUT'),
      ...(ofOne?.errors ?? deletionErrors(resource, settings)),
    ],
    fields: ['If-Match-any', ...(isPatch ? ['Idempotency-Key'] : [])],
  };
}
