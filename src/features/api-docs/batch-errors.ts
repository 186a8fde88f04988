import { type ErrorName, when } from '../../api/doc.js';
import { CORE_TYPES } from '../../errors/catalogue.js';
import { notFoundCode } from '../../errors/record-errors.js';
import { constraintErrors } from './record-operations.js';
import type { DescribedResource } from './type-names.js';

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
