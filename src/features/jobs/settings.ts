import { FeatureSettings } from '../../config/config.js';

export const JOB_SETTINGS = new FeatureSettings({
  read: ({ flag }) => ({
    /** Whether the service has jobs, and whether a request can create many records. */
    jobs: flag('JOBS', true),
    /** Records of one request. */
    bulkRecords: 100_000,
    /** Bytes of the body of one request with many records. */
    bulkBytes: 67_108_864,
    /** Bytes of the body of one request for a job. */
    jobBytes: 268_435_456,
    /** Jobs that have not ended: those of one principal, and all. */
    jobsPerCaller: 5,
    jobsMax: 50,
    /** Seconds for which a job that has ended is stored. */
    jobTtl: 86_400,
  }),
  isOn: ({ jobs }) => jobs,
  paths: ['jobs'],
  removed: ['BULK_BYTES', 'BULK_RECORDS', 'JOB_BYTES', 'JOB_TTL', 'JOBS_MAX', 'JOBS_PER_PRINCIPAL'],
  typeNames: ['CreationReport', 'Job', 'JobList', 'Jobs', 'RefusedRecord'],
});

/** Requests with many records that this process stores at a time, each on a connection of its own to the database. */
export const MAX_CREATIONS = 2;
