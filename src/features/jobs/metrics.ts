import { counter } from '../../telemetry/instruments.js';

export type JobMetrics = ReturnType<typeof createJobMetrics>;

/** Metrics of records that come in bodies with many. */
export function createJobMetrics() {
  return {
    records: counter(
      'plinth_bulk_records_total',
      'Records of requests with many, by whether they were stored or refused.',
      ['outcome'],
    ),
    jobs: counter('plinth_jobs_total', 'Jobs that this process has ended, by how.', ['outcome']),
  };
}
