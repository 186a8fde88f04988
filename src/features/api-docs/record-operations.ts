import { notFoundCode } from '../../errors/record-errors.js';
import type { Version } from '../../versions/version.js';
import { type ErrorRef, error, type OperationDescription, type Success, schemaRef } from './model.js';
import { schemaNames, shownRecord } from './record-schemas.js';
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

export const JSON_TYPE = 'application/json';

const text = { type: 'string' } as const;

const CONDITIONS = ['If-Match', 'If-None-Match', 'If-Modified-Since', 'If-Unmodified-Since'];

/** The header fields of reads. */
export const readFields = ({ databaseReadUrl }: CollectionSettings): string[] =>
  databaseReadUrl === undefined ? CONDITIONS : [...CONDITIONS, 'Write-Position', 'Cache-Control'];

export const IDEMPOTENT = [
  error('IDEMPOTENCY_KEY_IN_USE'),
  error('IDEMPOTENCY_KEY_REUSED'),
  error('STORED_RESPONSE_TOO_LARGE'),
];

/** What a collection is called. */
export class Names {
  readonly list: string;
  readonly record: { readonly one: string; readonly many: string; readonly word: string };

  constructor({ name, singular, types }: DescribedResource) {
    this.list = name;
    this.record = { one: types.one, many: types.many, word: singular };
  }
}

export const notModified: Success = {
  description: 'The client has the current representation.',
  headers: ['ETag', 'Last-Modified', 'Cache-Control', 'Events-Cursor', 'Link', 'X-Total-Count'],
};

/** What a record is shown as after a write. */
export function shown(
  resource: DescribedResource,
  description: string,
  more: readonly string[] = [],
): Success {
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
export const created = (resource: DescribedResource): Success =>
  shown(resource, 'The record; with `Prefer: return=minimal` without content.', ['Location']);

/** Errors of a body that cannot be stored. */
export function writeErrors({ unique, references }: DescribedResource): ErrorRef[] {
  const duplicates = unique.map(({ code }): ErrorRef => ({ status: 409, code, shape: 'envelope' }));
  const missing = references.map(
    ({ singular }): ErrorRef => ({ status: 422, code: notFoundCode(singular), shape: 'envelope' }),
  );
  return [...duplicates, ...missing, error('VALIDATION_ERROR'), error('INSUFFICIENT_STORAGE')];
}

/** The 404 of a record, whose code only problem documents show. */
export const missing = ({ singular }: DescribedResource): ErrorRef => ({
  status: 404,
  code: notFoundCode(singular),
  shape: 'simple',
});

/** GET of one record. */
export function read(
  resource: DescribedResource,
  settings: CollectionSettings,
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
          [JSON_TYPE]: shownRecord(resource),
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
      error('INVALID_QUERY'),
      ...(settings.tombstones ? [error('GONE')] : []),
    ],
    fields: readFields(settings),
  };
}
