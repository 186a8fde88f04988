import { hashedReply, JSON_TYPE } from '../collection/representation.js';
import type { Resource } from '../collection/resource.js';
import { readConditions } from '../http/preconditions.js';
import type { Action } from '../http/router.js';
import { mountOf, VERSIONS } from '../versions/supported.js';
import { METADATA_PATH } from './protected-resource.js';

/** The names of the links of the first page, and their paths. */
const DOCUMENTS: Readonly<Record<string, string>> = {
  docs: '/docs',
  openapi: '/openapi.json',
  asyncapi: '/asyncapi.json',
  errors: '/errors',
  whoami: '/whoami',
  events: '/events',
  keys: '/keys',
  webhooks: '/webhooks',
  versions: '/admin/versions',
  applications: '/oauth-clients',
  account: '/account',
  health: '/healthz',
  authorization: METADATA_PATH,
};

/** Names the collections, the versions and the documents of the service, with links: 200, 304, 406, 412. */
export function home(
  resources: readonly Resource[],
  paths: ReadonlySet<string>,
  publicPrefix: string,
): Action {
  const documents = Object.entries(DOCUMENTS).filter(([, path]) => paths.has(path));
  return {
    offers: [JSON_TYPE],
    run: ({ headers, prefix }) => {
      const collections = resources.map(({ name, singular }) => ({
        name,
        singular,
        href: `${prefix}/${name}`,
      }));
      const links = Object.fromEntries(documents.map(([name, path]) => [name, prefix + path]));
      const body = JSON.stringify({
        name: 'Plinth',
        versions: Object.fromEntries(
          VERSIONS.map((version) => [version.number, `${mountOf(version, publicPrefix)}/`]),
        ),
        collections,
        links: { self: `${prefix}/`, ...links },
      });
      return hashedReply(JSON_TYPE, body, readConditions(headers));
    },
  };
}
