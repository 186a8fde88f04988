import { typesIn } from '../../errors/catalogue.js';
import type { Feature } from '../../feature.js';
import type { DeclarationServices } from './declaration-files.js';
import type { Site } from './site.js';

/** Pages for browsers. */
export default {
  endpoints: async (config) => [
    ...(await import('./assets.js')).assetsOf(config),
    ...(await import('./declaration-files.js')).DECLARATION_ENDPOINTS,
    (await import('./versions-page.js')).versionsEndpoint(config),
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
    let site: Site | undefined;
    return {
      services: () => core,
      represent: (routes, api) => {
        site = siteOf(api, routes, lookOf(core.config));
        return withPages(routes, core.description.endpoints, site);
      },
      errorPage: async (request, problem) => site && errorPage(site, request, problem),
    };
  },
} satisfies Feature<DeclarationServices>;
