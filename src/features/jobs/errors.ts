import { define, limited } from '../../errors/problem.js';
import type { CreationReport } from './report.js';

/** Records of a body with many are refused, so that none was stored. */
export const recordsRefused = define('RECORDS_REFUSED', 422, {
  message: 'Records were refused. None was stored.',
  cause: 'Some of the records in the body are not valid, or conflict with others.',
  remedy: 'Correct the records in details.faults, or send `Prefer: handling=lenient` to store the others.',
  example: [
    {
      meta: { records: 3, stored: 0, refused: 1, omitted: 0 },
      faults: [{ line: 2, pointer: '/price', code: 'VALIDATION_ERROR', message: 'must be a number' }],
    },
  ],
  make: ({ meta, faults }: CreationReport) => ({ details: { ...meta, faults } }),
});

/** A body has more records than one request can. */
export const tooManyRecords = define('TOO_MANY_RECORDS', 413, {
  message: 'The body has too many records. None was stored.',
  cause: 'The body has more than details.limit records.',
  remedy: 'Send the records in several requests.',
  example: [100_000],
  make: limited((limit) => `The body may have at most ${limit} records. None was stored.`),
});

/** A principal has too many jobs that have not ended. */
export const tooManyJobs = define('TOO_MANY_JOBS', 429, {
  message: 'You have too many unfinished jobs.',
  cause: 'The principal has details.limit jobs that have not ended.',
  remedy: 'Wait until one has ended, or cancel one by DELETE.',
  example: [5],
  make: (limit: number) => ({
    message: `You have ${limit} unfinished jobs, and cannot have more.`,
    details: { limit },
    headers: ['Retry-After', '10'],
  }),
});

/** The job of a request was cancelled before its body had arrived. */
export const jobCancelled = define('JOB_CANCELLED', 409, {
  message: 'The job was cancelled while its body arrived.',
  cause: 'A DELETE of the job came before the end of the body.',
  remedy: 'Send the request again if the job is wanted.',
});

/** A job that another version of the service has stored. */
export const unknownJob = define('UNKNOWN_JOB', 410, {
  message: 'The service does no jobs of this kind.',
  cause:
    'Another version of the service has begun the job, of the kind details.kind. What that version has changed stays.',
  remedy:
    'Send `PATCH` or `DELETE` with a filter again, and read a list as NDJSON or CSV in place of an export.',
  example: ['export'],
  make: (kind: string) => ({
    message: `The service does no jobs of the kind ${kind} any more.`,
    details: { kind },
  }),
});
