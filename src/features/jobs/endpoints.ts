import { arrayOf, ID, json, objectOf, schemaRef, TEXT, TIME, TIME_OR_NULL } from '../../api/doc.js';
import { at, type Endpoint } from '../../api/endpoint.js';
import { deleteJob, getJob, getJobs } from './job-actions.js';
import type { JobServices } from './settings.js';

const COUNT = { type: 'integer', minimum: 0 } as const;

const SCHEMAS = {
  RefusedRecord: objectOf(
    { line: { type: 'integer', minimum: 1 }, pointer: TEXT, code: TEXT, message: TEXT, value: TEXT },
    ['line', 'pointer', 'code', 'message'],
  ),
  CreationReport: objectOf({
    meta: objectOf({ records: COUNT, stored: COUNT, refused: COUNT, omitted: COUNT }),
    faults: { type: 'array', items: schemaRef('RefusedRecord') },
  }),
  Job: objectOf(
    {
      id: ID,
      kind: TEXT,
      collection: TEXT,
      state: { enum: ['receiving', 'queued', 'running', 'done', 'failed', 'cancelled'] },
      progress: objectOf({ bytes: COUNT, total_bytes: COUNT, stored: COUNT, refused: COUNT }),
      report: schemaRef('CreationReport'),
      error: objectOf({ status: COUNT, code: TEXT, message: TEXT, details: {} }, [
        'status',
        'code',
        'message',
      ]),
      created_at: TIME,
      started_at: TIME_OR_NULL,
      ended_at: TIME_OR_NULL,
      expires_at: TIME_OR_NULL,
      _links: schemaRef('Links'),
    },
    ['id', 'kind', 'collection', 'state', 'created_at', 'started_at', 'ended_at', 'expires_at', '_links'],
  ),
};

/** The jobs of a principal. */
export const ENDPOINTS: readonly Endpoint<JobServices>[] = [
  {
    ...at('GET', '/jobs', 'credential'),
    homeLink: { name: 'jobs', position: 18 },
    doc: {
      id: 'listJobs',
      tag: 'jobs',
      summary: 'List your jobs, the newest first',
      success: { 200: json('Up to 100 jobs.', 'JobList', ['Cache-Control']) },
    },
    schemas: () => ({ ...SCHEMAS, JobList: objectOf({ data: arrayOf(schemaRef('Job')) }) }),
    run: getJobs,
  },
  {
    ...at('GET', '/jobs/:id', 'credential'),
    doc: {
      id: 'getJob',
      tag: 'jobs',
      summary: 'Show the state of a job',
      success: { 200: json('The job.', 'Job', ['Cache-Control']) },
      errors: [['NOT_FOUND', 'simple']],
    },
    run: getJob,
  },
  {
    ...at('DELETE', '/jobs/:id', 'credential'),
    doc: {
      id: 'deleteJob',
      tag: 'jobs',
      summary: 'Cancel a job, or remove one that has ended',
      success: { 204: { description: 'The job was cancelled or removed.' } },
      errors: [['NOT_FOUND', 'simple']],
    },
    run: deleteJob,
  },
];
