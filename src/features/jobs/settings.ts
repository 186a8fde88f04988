import { FeatureSettings } from '../../config/config.js';

export const JOB_SETTINGS = new FeatureSettings({
  read: ({ flag, integer }) => ({
    /** Whether the service has jobs, and whether a request can create many records. */
    jobs: flag('JOBS', true),
    /** Records of one request. */
    bulkRecords: integer('BULK_RECORDS', 100_000, 1, 10_000_000),
    /** Bytes of the body of one request with many records. */
    bulkBytes: integer('BULK_BYTES', 67_108_864, 1024, 17_179_869_184),
    /** Bytes of the body of one request for a job. */
    jobBytes: integer('JOB_BYTES', 268_435_456, 1024, 17_179_869_184),
    /** Jobs that have not ended: those of one principal, and all. */
    jobsPerCaller: integer('JOBS_PER_PRINCIPAL', 5, 1, 1000),
    jobsMax: integer('JOBS_MAX', 50, 1, 100_000),
    /** Seconds for which a job that has ended is stored. */
    jobTtl: integer('JOB_TTL', 86_400, 1, 31_536_000),
  }),
  isOn: ({ jobs }) => jobs,
  files: ({ jobs }) => (jobs ? MAX_CREATIONS + 1 : 0),
  paths: ['jobs'],
  typeNames: ['ChangeReport', 'CreationReport', 'Job', 'JobList', 'JobResult', 'Jobs', 'RefusedRecord'],
});

/** Requests with many records that this process stores at a time, each on a connection of its own to the database. */
export const MAX_CREATIONS = 2;
