import { json, UNCHANGED } from '../../api/doc.js';
import { at, type Endpoint } from '../../api/endpoint.js';
import { arrayOf, ID, objectOf, schemaRef, TEXT, TIME, TIME_OR_NULL } from '../../api/schema.js';
import { CSV_TYPE, JSON_TYPE, NDJSON_TYPE } from '../../http/media-types.js';
import { deleteJob, getJob, getJobs, getResult, type JobServices } from './job-actions.js';

const COUNT = { type: 'integer', minimum: 0 } as const;

const SCHEMAS = {
  RefusedRecord: objectOf(
    { line: { type: 'integer', minimum: 1 }, id: ID, pointer: TEXT, code: TEXT, message: TEXT, value: TEXT },
    ['pointer', 'code', 'message'],
  ),
  CreationReport: objectOf({
    meta: objectOf({ records: COUNT, stored: COUNT, refused: COUNT, omitted: COUNT }),
    faults: { type: 'array', items: schemaRef('RefusedRecord') },
  }),
  ChangeReport: objectOf({
    meta: objectOf({ matched: COUNT, changed: COUNT, refused: COUNT, omitted: COUNT }),
    faults: { type: 'array', items: schemaRef('RefusedRecord') },
  }),
  Job: objectOf(
    {
      id: ID,
      kind: { enum: ['creation', 'export', 'change'] },
      collection: TEXT,
      state: { enum: ['receiving', 'queued', 'running', 'done', 'failed', 'cancelled'] },
      progress: objectOf(
        { bytes: COUNT, total_bytes: COUNT, stored: COUNT, changed: COUNT, refused: COUNT },
        [],
      ),
      report: { anyOf: [schemaRef('CreationReport'), schemaRef('ChangeReport')] },
      result: objectOf({ bytes: COUNT }),
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

const RESULT = { [JSON_TYPE]: {}, [CSV_TYPE]: TEXT, [NDJSON_TYPE]: TEXT };
const RESULT_FIELDS = ['Accept-Ranges', 'Cache-Control', 'Content-Disposition', 'ETag', 'Last-Modified'];

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
    ...at('GET', '/jobs/:id/result', 'credential'),
    doc: {
      id: 'getJobResult',
      tag: 'jobs',
      summary: 'Download the result of an export, or a range of it',
      success: {
        200: { description: 'The list.', content: RESULT, headers: [...RESULT_FIELDS] },
        206: { description: 'The range.', content: RESULT, headers: [...RESULT_FIELDS, 'Content-Range'] },
        304: { ...UNCHANGED, headers: [...UNCHANGED.headers!, 'Last-Modified'] },
      },
      errors: [
        'ACCESS_DENIED',
        ['NOT_FOUND', 'simple'],
        'RESULT_MISSING',
        'RANGE_NOT_SATISFIABLE',
        'PRECONDITION_FAILED',
      ],
      fields: ['Range', 'If-Range', 'If-Match', 'If-None-Match', 'If-Modified-Since', 'If-Unmodified-Since'],
    },
    run: getResult,
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
