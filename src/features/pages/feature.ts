import { typesIn } from '../../errors/catalogue.js';
import type { Feature } from '../../feature.js';
import type { PageServices } from './declaration-files.js';
import type { Site } from './site.js';

/** Pages for browsers. */
export default {
  endpoints: async (config) => [
    ...(await import('./assets.js')).assetsOf(config),
    ...(await import('./declaration-files.js')).DECLARATION_ENDPOINTS,
    (await import('./versions-page.js')).VERSIONS_ENDPOINT,
  ],
  errors: async () => typesIn(await import('./errors.js')),
  documentation: { hasErrorPages: true },
  represent: async (endpoints, resources) =>
    (await import('./page-routes.js')).describePages(endpoints, resources),
  open: async (core) => {
    const { withPages } = await import('./page-routes.js');
    const { siteOf } = await import('./site.js');
    const { lookOf } = await import('./assets.js');
    const { errorPage } = await import('./error-page.js');
    const { DeclarationFiles } = await import('./declaration-files.js');
    const files = new DeclarationFiles(core);
    const versions = (await import('./versions-page.js')).versionsIn(core);
    let site: Site | undefined;
    return {
      services: () => ({ files, versions }),
      represent: (routes, api) => {
        site = siteOf(api, routes, lookOf(core.config));
        return withPages(routes, core.description.endpoints, site);
      },
      errorPage: async (request, problem) => site && errorPage(site, request, problem),
    };
  },
} satisfies Feature<PageServices>;
