import { typesIn } from '../../errors/catalogue.js';
import type { Feature } from '../../feature.js';
import type { Site } from './site.js';

/** Pages for browsers. */
export default {
  represent: async (endpoints, resources) =>
    (await import('./routes.js')).describePages(endpoints, resources),
  open: async ({ endpoints }) => {
    const { kindsOf, withPages } = await import('./routes.js');
    const { siteOf } = await import('./site.js');
    const { errorPage } = await import('./error-page.js');
    let site: Site | undefined;
    return {
      errors: typesIn(await import('./errors.js')),
      represent: (routes, api) => {
        site = siteOf(api, routes);
        return withPages(routes, kindsOf(endpoints), site);
      },
      errorPage: (request, problem, requestId) => site && errorPage(site, request, problem, requestId),
    };
  },
} satisfies Feature;
