import type { Reader } from '../../api/record-actions.js';
import type { Resource } from '../../collection/resource.js';
import { ownPathsOf } from '../../config/config.js';
import type { Feature } from '../../feature.js';
import type { Source } from './loose-relations.js';

/** The requests and responses of json-server 0.17. */
export default {
  open: async ({ config }) => {
    const { publicUrl, tlsCert } = config;
    const { asJsonServer } = await import('./loose-list.js');
    const { asJsonServerCreation, asJsonServerRecord } = await import('./loose-records.js');
    const { referenceTo } = await import('./loose-relations.js');
    const { withLooseRoutes } = await import('./loose-routes.js');
    const scheme = tlsCert === undefined ? 'http' : 'https';
    const originOf: Source['originOf'] = ({ host }) =>
      publicUrl ?? (host === undefined ? '' : `${scheme}://${host}`);
    const sourceOf = ({ collections }: Pick<Reader, 'collections'>, { name }: Resource): Source => {
      // The service refuses access rules with COMPAT=json-server.
      const related = collections.map(({ whole }) => whole);
      const scoped = collections.find(({ resource }) => resource.name === name)!;
      return { collection: scoped.whole, as: scoped.as, related, originOf };
    };
    return {
      represent: (routes, api) =>
        withLooseRoutes(
          routes,
          api.collections.map(({ resource }) => sourceOf(api, resource)),
          ownPathsOf(config),
        ),
      adapter: {
        list: (action, reader, resource, parent) =>
          asJsonServer(action, sourceOf(reader, resource), parent && referenceTo(resource, parent)),
        record: (action, reader, resource) => asJsonServerRecord(action, sourceOf(reader, resource)),
        creation: (action, reader, resource, parent) =>
          asJsonServerCreation(
            action,
            sourceOf(reader, resource),
            parent && sourceOf(reader, parent).collection,
          ),
      },
    };
  },
} satisfies Feature;
