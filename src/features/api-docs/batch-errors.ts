import { CATALOGUE } from '../../errors/catalogue.js';
import { type ErrorRef, error } from './model.js';

/** Errors that an operation of a batch can cause; the statuses of the batch itself follow. */
const BATCH_ERRORS: readonly ErrorRef[] = (Object.keys(CATALOGUE) as (keyof typeof CATALOGUE)[])
  .filter((code) => [403, 404, 405, 409, 410, 412, 413, 422, 428, 503, 507].includes(CATALOGUE[code].status))
  .filter((code) => !/CURSOR|DELIVERY|WEBHOOK|TICKET/.test(code))
  .map((code) => error(code, 'envelope'));

export const batchErrors = (named: readonly ErrorRef[]): ErrorRef[] => [
  ...BATCH_ERRORS,
  ...named,
  error('VALIDATION_ERROR', 'envelope'),
  error('INVALID_QUERY'),
  error('UNKNOWN_PARAMETER'),
  error('NOT_ACCEPTABLE', 'envelope'),
];
