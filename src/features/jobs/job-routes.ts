import type { Guarded } from '../../access/guarded-collection.js';
import type { Verb } from '../../access/rules.js';
import { restrictToOwnRecord } from '../../actions/owner-check.js';
import { patch } from '../../actions/patch.js';
import { checkReferences } from '../../actions/permitted-references.js';
import { remove } from '../../actions/remove.js';
import type { Success } from '../../api/doc.js';
import type { Endpoint } from '../../api/endpoint.js';
import type { Api } from '../../api/record-actions.js';
import { TEXT } from '../../api/schema.js';
import { STRANGER } from '../../auth/principal.js';
import { unsupportedMediaType } from '../../errors/input-errors.js';
import { CSV_TYPE, JSON_TYPE, NDJSON_TYPE } from '../../http/media-types.js';
import { prefersAsync } from '../../http/prefer.js';
import type { Request } from '../../http/request.js';
import type { Action, Route } from '../../http/router.js';
import type { Creations } from './create-many.js';
import type { JobServices } from './job-actions.js';
import { REPORT_TYPE } from './job-task.js';
import { submitChange, submitCreation, submitExport } from './submit-job.js';

/** The media types of a body with many records. */
const TYPES = [NDJSON_TYPE, CSV_TYPE];

/** The endpoints: those that create a record create many as well, and those of creations and lists can begin jobs. */
export const describeJobs = (endpoints: readonly Endpoint[]): Endpoint[] =>
  endpoints.map((each) => {
    if (each.records?.method === 'create') return withCreation(each);
    const isList = each.records?.method === 'list' || each.records?.method === 'query';
    const isChange = each.records?.method === 'patchMatching' || each.records?.method === 'removeMatching';
    return isList ? { ...each, adds: EXPORT } : isChange ? { ...each, adds: CHANGE } : each;
  });

const accepted = (...fields: string[]): Success => ({
  description: 'A job has begun. `Location` is its address.',
  headers: ['Location', 'Preference-Applied', 'Cache-Control', ...fields],
});

const EXPORT: NonNullable<Endpoint['adds']> = {
  success: {},
  variants: [
    { summary: 'With `Prefer: respond-async`: write the whole list in a job', success: { 202: accepted() } },
  ],
  errors: ['TOO_MANY_JOBS'],
  fields: ['Prefer-async'],
};

const CHANGE: NonNullable<Endpoint['adds']> = {
  ...EXPORT,
  variants: [
    {
      summary: 'With `Prefer: respond-async`: change any number of records in a job',
      success: { 202: accepted('Idempotency-Replayed') },
    },
  ],
  fields: ['Prefer-change'],
};

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
        202: accepted('Idempotency-Replayed'),
      },
    },
  ],
  errors: ['RECORDS_REFUSED', 'TOO_MANY_RECORDS', 'TOO_MANY_JOBS', 'JOB_CANCELLED'],
  fields: ['Prefer-creation'],
};

const withCreation = (each: Endpoint): Endpoint => ({
  ...each,
  accepts: [...(each.accepts ?? []), ...TYPES],
  streams: TYPES,
  adds: CREATION,
});

/** The routes, of which those of collections create many records, and begin jobs. */
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
    const run: Action['run'] = (request) => {
      const { body } = request;
      if (!body || !TYPES.includes(body.type)) return create.run(request);
      if (body.stream && prefersJob(request)) return submitCreation(jobs, collection, request);
      if (body.stream) return creations().then((opened) => opened.create(collection, request));
      // An operation of a batch.
      throw unsupportedMediaType('Accept-Post', [JSON_TYPE]);
    };
    const actions = { ...route.actions, POST: { ...create, run } };
    return { ...route, actions: withChanges(withExports(actions, collection, jobs), collection, api, jobs) };
  });
}

/** The actions of a collection, whose lists can be exported. */
function withExports(actions: Route['actions'], collection: Guarded, jobs: JobServices): Route['actions'] {
  const { name } = collection.resource;
  const listing = Object.entries(actions).filter(([method]) => method === 'GET' || method === 'QUERY');
  const exporting = listing.map(([method, action]) => {
    jobs.actions.set(`${method} ${name}`, action);
    const run: Action['run'] = (request) =>
      LIST_TYPES.includes(request.type) && request.method !== 'HEAD' && prefersJob(request)
        ? submitExport(jobs, collection, action, request)
        : action.run(request);
    return [method, { ...action, run }] as const;
  });
  return { ...actions, ...Object.fromEntries(exporting) };
}

/** The actions of a collection, whose changes of all records that match can go on after the response. */
function withChanges(
  actions: Route['actions'],
  collection: Guarded,
  api: Api,
  jobs: JobServices,
): Route['actions'] {
  const { resource } = collection;
  const ofOwn = (verb: Verb, action: Action) => restrictToOwnRecord(api.db, collection, verb, action);
  const single = {
    PATCH: ofOwn('update', patch(collection, api.settings, checkReferences(collection, api.collections))),
    DELETE: ofOwn('delete', remove(collection, api.settings)),
  };
  const changing = (['PATCH', 'DELETE'] as const).map((method) => {
    const action = actions[method]!;
    const change = { method, action: single[method] };
    jobs.actions.set(`${method} ${resource.name}`, change.action);
    const run: Action['run'] = (request) =>
      prefersJob(request)
        ? submitChange({ ...jobs, settings: api.settings }, collection, change, request)
        : action.run(request);
    return [method, { ...action, run }] as const;
  });
  return { ...actions, ...Object.fromEntries(changing) };
}

/**
 * Whether a job is to do the work. Callers without a credential could not see it, and have none. An operation of a batch is part of its
 * transaction.
 */
const prefersJob = ({ headers, principal, run }: Request): boolean =>
  run === undefined && principal !== STRANGER && prefersAsync(headers.prefer);

const LIST_TYPES = [JSON_TYPE, NDJSON_TYPE, CSV_TYPE];
