import { TEXT } from '../../api/doc.js';
import type { Endpoint } from '../../api/endpoint.js';
import type { Api } from '../../api/record-actions.js';
import { STRANGER } from '../../auth/principal.js';
import { CSV_TYPE, NDJSON_TYPE } from '../../http/media-types.js';
import { prefersAsync } from '../../http/request.js';
import type { Action, Route } from '../../http/router.js';
import type { Creations } from './create-many.js';
import { submitCreation } from './job-actions.js';
import { REPORT_TYPE } from './job-task.js';
import type { JobServices } from './settings.js';

/** The media types of a body with many records. */
const TYPES = [NDJSON_TYPE, CSV_TYPE];

/** The endpoints, of which those that create a record create many as well, also in jobs. */
export const describeJobs = (endpoints: readonly Endpoint[]): Endpoint[] =>
  endpoints.map((each) => (each.records?.method === 'create' ? withCreation(each) : each));

const CREATION: NonNullable<Endpoint['adds']> = {
  success: {},
  variants: [
    {
      summary: 'Create many records, with `Prefer: respond-async` in a job',
      body: { [NDJSON_TYPE]: TEXT, [CSV_TYPE]: TEXT },
      success: {
        201: {
          description: 'How many records were stored, and which were refused.',
          content: { [REPORT_TYPE]: 'CreationReport' },
          headers: ['Preference-Applied', 'Cache-Control', 'Idempotency-Replayed'],
        },
        202: {
          description: 'A job has begun. `Location` is its address.',
          headers: ['Location', 'Preference-Applied', 'Cache-Control', 'Idempotency-Replayed'],
        },
      },
    },
  ],
  errors: ['RECORDS_REFUSED', 'TOO_MANY_RECORDS', 'TOO_MANY_JOBS', 'JOB_CANCELLED'],
  fields: ['Prefer creation'],
};

const withCreation = (each: Endpoint): Endpoint => ({
  ...each,
  accepts: [...(each.accepts ?? []), ...TYPES],
  streams: TYPES,
  adds: CREATION,
});

/** The routes, of which those of collections create many records, also in jobs. */
export function withJobs(
  routes: readonly Route[],
  api: Api,
  creations: () => Promise<Creations>,
  jobs: JobServices,
): Route[] {
  const byPath = new Map(api.collections.map((each) => [`/${each.resource.name}`, each]));
  return routes.map((route) => {
    const [collection, create] = [byPath.get(route.path), route.actions.POST];
    if (!collection || !create) return route;
    const stream: Action['run'] = (request) =>
      // Callers without a credential could not see a job, and have none.
      request.principal !== STRANGER && prefersAsync(request.headers.prefer)
        ? submitCreation(jobs, collection, request)
        : creations().then((opened) => opened.create(collection, request));
    return { ...route, actions: { ...route.actions, POST: { ...create, stream } } };
  });
}
