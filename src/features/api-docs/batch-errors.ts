import { CORE_TYPES } from '../../errors/catalogue.js';
import { type ErrorRef, error, refTo } from './model.js';

/** Errors that an operation of a batch can cause; the statuses of the batch itself follow. */
const BATCH_ERRORS: readonly ErrorRef[] = CORE_TYPES.filter(
  ({ status, code, suffix }) =>
    [403, 404, 405, 409, 410, 412, 413, 422, 428, 503, 507].includes(status) &&
    suffix === undefined &&
    !/CURSOR|TICKET/.test(code),
).map((type) => refTo(type, 'envelope'));

export const batchErrors = (named: readonly ErrorRef[]): ErrorRef[] => [
  ...BATCH_ERRORS,
  ...named,
  error('VALIDATION_ERROR', 'envelope'),
  error('INVALID_QUERY'),
  error('UNKNOWN_PARAMETER'),
  error('NOT_ACCEPTABLE', 'envelope'),
];
