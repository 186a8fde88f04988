import {
  type Doc,
  type ErrorName,
  json,
  objectOf,
  type SchemaName,
  type Success,
  TEXT,
} from '../../api/doc.js';
import { CORE_TYPES } from '../../errors/catalogue.js';
import { notFoundCode } from '../../errors/record-errors.js';
import { JSON_TYPE } from '../../http/media-types.js';
import type { Version } from '../../versions/supported.js';
import { schemaNames, shownRecord, writtenRecord } from './record-schemas.js';
import { when } from './responses.js';
import type { DescribedResource } from './type-names.js';

/** The settings on which the responses of collections depend. */
export interface CollectionSettings {
  readonly tombstones: boolean;
  readonly requireIfMatch: boolean;
  /** Whether lists have the responses of json-server. */
  readonly isJsonServer: boolean;
  readonly hasEvents: boolean;
  /** Undefined: there are no replicas. */
  readonly databaseReadUrl: string | undefined;
  /** The version that is described. */
  readonly version: Version;
}

const CONDITIONS = ['If-Match', 'If-None-Match', 'If-Modified-Since', 'If-Unmodified-Since'];

/** The header fields of reads. */
export const readFields = ({ databaseReadUrl }: CollectionSettings): string[] =>
  databaseReadUrl === undefined ? CONDITIONS : [...CONDITIONS, 'Write-Position', 'Cache-Control'];

export const IDEMPOTENT: readonly ErrorName[] = [
  'IDEMPOTENCY_KEY_IN_USE',
  'IDEMPOTENCY_KEY_REUSED',
  'STORED_RESPONSE_TOO_LARGE',
];

export const NOT_MODIFIED: Success = {
  description: 'The client has the current representation.',
  headers: ['ETag', 'Last-Modified', 'Cache-Control', 'Events-Cursor', 'Link', 'X-Total-Count'],
};

/** The response to a write. */
const written = (resource: DescribedResource, description: string, ...more: string[]): Success =>
  json(description, writtenRecord(resource), [
    'ETag',
    'Last-Modified',
    'Idempotency-Replayed',
    'Preference-Applied',
    'Events-Cursor',
    ...more,
  ]);

/** The response to a creation. */
export const created = (resource: DescribedResource): Success =>
  written(resource, 'The record; with `Prefer: return=minimal` without content.', 'Location');

/** Errors of a body that cannot be stored. */
export const writeErrors = (resource: DescribedResource): ErrorName[] => [
  ...constraintErrors(resource),
  'VALIDATION_ERROR',
  'INSUFFICIENT_STORAGE',
];

const constraintErrors = ({ unique, references }: DescribedResource): ErrorName[] => [
  ...unique.map(({ code }): ErrorName => [code, 'envelope', 409]),
  ...references.map(({ singular }): ErrorName => [notFoundCode(singular), 'envelope', 422]),
];

/** The 404 of a record, whose code only problem documents show. */
const missing = ({ singular }: DescribedResource): ErrorName => [notFoundCode(singular), 'simple', 404];

/** GET of one record. */
export const read = (resource: DescribedResource, settings: CollectionSettings): Doc => ({
  id: `get${resource.types.one}`,
  tag: resource.name,
  summary: `Show one ${resource.singular}`,
  success: {
    200: {
      description: 'The record.',
      content: { [JSON_TYPE]: shownRecord(resource), 'text/csv': TEXT },
      headers: ['ETag', 'Last-Modified', 'Cache-Control'],
    },
    304: NOT_MODIFIED,
  },
  errors: [
    resource.absent === 'simple' ? missing(resource) : ['NOT_FOUND', 'empty'],
    'PRECONDITION_FAILED',
    'INVALID_QUERY',
    ...when(settings.tombstones, 'GONE'),
  ],
  fields: readFields(settings),
});

const CHANGE = objectOf({
  type: { ...TEXT, description: 'The type of the event.' },
  version: { type: 'integer', minimum: 1 },
  time: { type: 'string', format: 'date-time' },
  actor: {
    type: ['string', 'null'],
    description: 'Who made the change. Null: unknown, or concealed by access rules.',
  },
  changes: {
    type: ['array', 'null'],
    description: 'Null: the values before are not stored, or the documents are too large.',
    items: objectOf({ name: TEXT, before: {}, after: {} }, ['name']),
  },
});

/** GET of the changes of one record. */
export const history = (resource: DescribedResource, settings: CollectionSettings): Doc => ({
  id: `list${resource.types.one}Changes`,
  tag: resource.name,
  summary: `List the changes of one ${resource.singular}, the newest first`,
  success: {
    200: json(
      'A page of changes. Follow `links.next` until it is null, also if a page is empty.',
      objectOf({
        data: { type: 'array', items: CHANGE },
        meta: objectOf({ limit: { type: 'integer' } }),
        links: objectOf({ self: TEXT, next: { type: ['string', 'null'] } }),
      }),
      ['Cache-Control'],
    ),
  },
  errors: [
    resource.absent === 'simple' ? missing(resource) : ['NOT_FOUND', 'empty'],
    ...when(settings.tombstones, 'GONE'),
    'INVALID_CURSOR',
    'CURSOR_GONE',
    'QUERY_TIMEOUT',
  ],
  query: {
    limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
    after: { type: 'string', description: 'A cursor from `links.next`.' },
  },
});

const WRITE_FIELDS = ['If-Match', 'If-None-Match', 'If-Unmodified-Since'];

/** Errors of a write to one record. */
const guardErrors = (
  resource: DescribedResource,
  { tombstones, requireIfMatch }: CollectionSettings,
): ErrorName[] => [
  'PRECONDITION_FAILED',
  ...when(resource.requireIfMatch ?? requireIfMatch, 'PRECONDITION_REQUIRED'),
  ...when(tombstones, 'GONE'),
];

const passwordErrors = ({ schema }: DescribedResource): ErrorName[] =>
  when(
    'password' in schema.properties,
    'ADDRESS_UNCONFIRMED',
    'CURRENT_PASSWORD_REQUIRED',
    'CURRENT_PASSWORD_WRONG',
    'PASSWORD_NOT_SET',
  );

/** The common part of PUT and PATCH of one record. */
const writing = (resource: DescribedResource, settings: CollectionSettings) => ({
  tag: resource.name,
  success: {
    200: written(resource, 'The record after the write.'),
    204: {
      description: 'With `Prefer: return=minimal`.',
      headers: ['ETag', 'Last-Modified', 'Preference-Applied', 'Idempotency-Replayed'],
    },
  },
  errors: [
    missing(resource),
    'VERSION_CONFLICT',
    ...guardErrors(resource, settings),
    ...writeErrors(resource),
    ...passwordErrors(resource),
  ] as ErrorName[],
  fields: [...WRITE_FIELDS, 'Prefer return'],
});

export function replace(resource: DescribedResource, settings: CollectionSettings): Doc {
  const { success, errors, fields, ...rest } = writing(resource, settings);
  const { hasClientIds, types, singular } = resource;
  return {
    ...rest,
    id: `replace${types.one}`,
    summary: hasClientIds
      ? `Replace one ${singular}, or create it with \`If-None-Match: *\` and an id that is a UUID of version 7`
      : `Replace one ${singular}`,
    body: { [JSON_TYPE]: schemaNames(resource).input },
    success: hasClientIds ? { 201: created(resource), ...success } : success,
    errors: [...errors, ...when(hasClientIds, 'INVALID_ID', ...IDEMPOTENT)],
    fields: hasClientIds ? [...fields, 'Idempotency-Key'] : fields,
  };
}

export function patch(resource: DescribedResource, settings: CollectionSettings): Doc {
  const { errors, fields, ...rest } = writing(resource, settings);
  return {
    ...rest,
    id: `update${resource.types.one}`,
    summary: `Change one ${resource.singular}`,
    body: patchBody(resource),
    errors: [...errors, 'PATCH_TEST_FAILED', 'UNPROCESSABLE_PATCH', ...IDEMPOTENT],
    fields: [...fields, 'Idempotency-Key'],
  };
}

export const patchBody = (resource: DescribedResource): Record<string, SchemaName> => ({
  'application/merge-patch+json': schemaNames(resource).patch,
  'application/json-patch+json': 'JsonPatch',
  [JSON_TYPE]: schemaNames(resource).patch,
});

/** DELETE of one record. The deletion of a record that is already deleted succeeds. */
export const remove = (resource: DescribedResource, settings: CollectionSettings): Doc => ({
  id: `delete${resource.types.one}`,
  tag: resource.name,
  summary: `Delete one ${resource.singular}`,
  success: { 204: { description: 'The record does not exist (any more).' } },
  errors: [
    ...guardErrors(resource, { ...settings, tombstones: false }),
    ...when(resource.referredBy.length > 0, 'REFERENCED'),
  ],
  fields: WRITE_FIELDS,
});

/** Errors that an operation of a batch can cause; the statuses of the batch itself are the last ones. */
export const batchErrors = (resources: readonly DescribedResource[]): ErrorName[] => [
  ...CORE_TYPES.filter(
    ({ status, code, suffix }) =>
      BATCH_STATUSES.includes(status) && suffix === undefined && !/CURSOR|TICKET/.test(code),
  ).map(({ code }): ErrorName => [code, 'envelope']),
  ...resources.flatMap((resource): ErrorName[] => [
    [notFoundCode(resource.singular), 'envelope', 404],
    [notFoundCode(resource.singular), 'envelope', 422],
    ...constraintErrors(resource),
  ]),
  ['VALIDATION_ERROR', 'envelope'],
  'INVALID_QUERY',
  ...when(
    resources.some(({ hasClientIds }) => hasClientIds),
    'INVALID_ID',
  ),
  'UNKNOWN_PARAMETER',
  ['NOT_ACCEPTABLE', 'envelope'],
];

const BATCH_STATUSES: readonly number[] = [403, 404, 405, 409, 410, 412, 413, 422, 428, 503, 507];
