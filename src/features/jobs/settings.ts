import type { Core } from '../../app/open-features.js';
import { type Config, FeatureSettings } from '../../config/config.js';
import type { Db } from '../../db/db.js';
import type { Idempotency, ScopedCollection } from '../../feature.js';
import type { Log } from '../../telemetry/log.js';
import type { JobMetrics } from './metrics.js';

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
    /** How often a process looks for jobs of other processes. */
    jobPollMs: 2000,
  }),
  isOn: ({ jobs }) => jobs,
  paths: ['jobs'],
  typeNames: ['CreationReport', 'Job', 'JobList', 'Jobs', 'RefusedRecord'],
});

/** The settings and the parts of the service that creations of many records and jobs need. */
export interface JobServices
  extends Omit<Config, 'collections' | 'databaseUrl'>,
    ReturnType<typeof JOB_SETTINGS.of> {
  readonly db: Db;
  readonly databaseUrl: string;
  readonly log: Log;
  readonly collections: readonly ScopedCollection[];
  readonly idempotency: Idempotency;
  readonly bodies: Core['bodies'];
  readonly metrics: JobMetrics;
  /** Called when records were written. */
  readonly wrote: () => void;
  /** Called when there is a job to do. */
  readonly wake: () => void;
}

/** Requests with many records that this process stores at a time, each on a connection of its own to the database. */
export const MAX_CREATIONS = 2;
