import { json } from '../../api/doc.js';
import type { Endpoint } from '../../api/endpoint.js';
import { TEXT } from '../../api/schema.js';
import { CSV_TYPE, JSON_TYPE, NDJSON_TYPE } from '../../collection/representation.js';
import { unsupportedMediaType } from '../../errors/input-errors.js';
import { prefersAsync } from '../../http/prefer.js';
import type { Action, Route } from '../../http/router.js';
import type { Collection } from '../../list/collection.js';
import type { Creations } from './creations.js';
import { type JobServices, submitCreation } from './job-actions.js';

/** The media types of a body with many records. */
const TYPES = [NDJSON_TYPE, CSV_TYPE];

/** The endpoints, of which those that create a record of a collection create many as well. */
export const describeCreations = (endpoints: readonly Endpoint[]): Endpoint[] =>
  endpoints.map((each) =>
    each.records?.method === 'create'
      ? {
          ...each,
          accepts: [...(each.accepts ?? []), ...TYPES],
          streams: TYPES,
          adds: {
            body: { [NDJSON_TYPE]: TEXT, [CSV_TYPE]: TEXT },
            success: {
              200: json('Many records were stored.', 'CreationReport', [
                'Cache-Control',
                'Preference-Applied',
                'Idempotency-Replayed',
              ]),
              202: json('A job creates the records.', 'Job', [
                'Cache-Control',
                'Location',
                'Preference-Applied',
                'Idempotency-Replayed',
              ]),
            },
            errors: ['RECORDS_REFUSED', 'TOO_MANY_RECORDS', 'TOO_MANY_JOBS', 'JOB_CANCELLED'],
            fields: ['Prefer-creation'],
          },
        }
      : each,
  );

/** The routes, of which those of collections create many records. */
export function withCreations(
  routes: readonly Route[],
  collections: readonly Collection[],
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
      if (body.stream && prefersAsync(request.headers.prefer))
        return submitCreation(jobs, collection, request);
      if (body.stream) return creations().then((opened) => opened.create(collection, request));
      // An operation of a batch.
      throw unsupportedMediaType('Accept-Post', [JSON_TYPE]);
    };
    return { ...route, actions: { ...route.actions, POST: { ...create, run } } };
  });
}
