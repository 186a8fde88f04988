import type { Guarded } from '../../access/guarded-collection.js';
import type { Endpoint } from '../../api/endpoint.js';
import { CSV_TYPE, JSON_TYPE, NDJSON_TYPE } from '../../collection/representation.js';
import { unsupportedMediaType } from '../../errors/input-errors.js';
import { prefersAsync } from '../../http/prefer.js';
import type { Action, Route } from '../../http/router.js';
import type { Creations } from './creations.js';
import type { JobServices } from './job-actions.js';
import { requireUnlimited } from './job-rules.js';
import { submitCreation, submitExport } from './submissions.js';

/** The media types of a body with many records. */
const TYPES = [NDJSON_TYPE, CSV_TYPE];

/** The endpoints: those that create a record create many as well, and those of creations and lists can begin jobs. */
export const describeJobs = (endpoints: readonly Endpoint[]): Endpoint[] =>
  endpoints.map((each) => {
    if (each.records?.method === 'create') return withCreation(each);
    const isList = each.records?.method === 'list' || each.records?.method === 'query';
    return isList ? { ...each, adds: EXPORT } : each;
  });

/**
 * The success of a job, 202, and bodies with many records and their success are not in the documents about the API: generators of clients
 * would make one type of them and of the record or list that all other requests have. docs/jobs.md has them.
 */
const EXPORT: NonNullable<Endpoint['adds']> = {
  success: {},
  errors: ['TOO_MANY_JOBS'],
  fields: ['Prefer-async'],
};

const withCreation = (each: Endpoint): Endpoint => ({
  ...each,
  accepts: [...(each.accepts ?? []), ...TYPES],
  streams: TYPES,
  adds: {
    success: {},
    errors: ['RECORDS_REFUSED', 'TOO_MANY_RECORDS', 'TOO_MANY_JOBS', 'JOB_CANCELLED'],
    fields: ['Prefer-creation'],
  },
});

/** The routes, of which those of collections create many records, and begin jobs. */
export function withJobs(
  routes: readonly Route[],
  collections: readonly Guarded[],
  creations: () => Promise<Creations>,
  jobs: JobServices,
): Route[] {
  const byPath = new Map(collections.map((each) => [`/${each.resource.name}`, each]));
  return routes.map((route) => {
    const [collection, create] = [byPath.get(route.path), route.actions.POST];
    if (!collection || !create) return route;
    const run: Action['run'] = (request) => {
      const { body } = request;
      if (!body || !TYPES.includes(body.type)) return create.run(request);
      if (body.stream) requireUnlimited(collection, request);
      if (body.stream && prefersAsync(request.headers.prefer))
        return submitCreation(jobs, collection, request);
      if (body.stream) return creations().then((opened) => opened.create(collection, request));
      // An operation of a batch.
      throw unsupportedMediaType('Accept-Post', [JSON_TYPE]);
    };
    const actions = { ...route.actions, POST: { ...create, run } };
    return { ...route, actions: withExports(actions, collection, jobs) };
  });
}

/** The actions of a collection, whose lists can be exported. */
function withExports(actions: Route['actions'], collection: Guarded, jobs: JobServices): Route['actions'] {
  const { name } = collection.resource;
  const listing = Object.entries(actions).filter(([method]) => method === 'GET' || method === 'QUERY');
  const exporting = listing.map(([method, action]) => {
    jobs.lists.set(`${method} ${name}`, action);
    const run: Action['run'] = (request) =>
      LIST_TYPES.includes(request.type) && request.method !== 'HEAD' && prefersAsync(request.headers.prefer)
        ? submitExport(jobs, collection, action, request)
        : action.run(request);
    return [method, { ...action, run }] as const;
  });
  return { ...actions, ...Object.fromEntries(exporting) };
}

const LIST_TYPES = [JSON_TYPE, NDJSON_TYPE, CSV_TYPE];
