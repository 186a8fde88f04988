import { typesIn } from '../../errors/catalogue.js';
import type { Feature } from '../../feature.js';
import type { Site } from './site.js';

/** Pages for browsers. */
export default {
  errors: async () => typesIn(await import('./errors.js')),
  documentation: { hasErrorPages: true },
  represent: async (endpoints, resources) =>
    (await import('./page-routes.js')).describePages(endpoints, resources),
  open: async ({ description: { endpoints } }) => {
    const { deliveryPagesFor, kindsOf, withPages } = await import('./page-routes.js');
    const { siteOf } = await import('./site.js');
    const { errorPage } = await import('./error-page.js');
    const deliveries = await deliveryPagesFor(endpoints);
    let site: Site | undefined;
    return {
      represent: (routes, api) => {
        site = siteOf(api, routes);
        return withPages(routes, kindsOf(endpoints), deliveries, site);
      },
      errorPage: (request, problem, requestId) => site && errorPage(site, request, problem, requestId),
    };
  },
} satisfies Feature;
