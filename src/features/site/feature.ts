import { ConfigError } from '../../config/config.js';
import { noSuchPath } from '../../errors/request-errors.js';
import type { Feature } from '../../feature.js';
import { HTML_TYPE, JSON_TYPE } from '../../http/media-types.js';
import { prefersPage } from '../../http/request.js';
import { SITE_SETTINGS } from './settings.js';

/** The pages of the service while `/` is the application. */
const ADMIN_PATH = '/admin';

/** The files of an application, at all paths that nothing else has. */
export default {
  open: async ({ config, collections }) => {
    if (collections.some(({ resource }) => `/${resource.name}` === ADMIN_PATH))
      throw new ConfigError([`SITE has the pages of the service at ${ADMIN_PATH}, which a collection has`]);
    const { SiteFiles } = await import('./site-files.js');
    const files = await SiteFiles.open(SITE_SETTINGS.of(config).site!);
    return {
      represent: (routes) =>
        routes.flatMap((route) => {
          const { GET: get } = route.actions;
          if (route.path !== '/' || !get) return route;
          // An issuer returns to an application with parameters of its own.
          const { parameters: _, ...anyQuery } = get;
          const index = { ...anyQuery, offers: [JSON_TYPE, HTML_TYPE], page: files.index };
          return [
            { ...route, actions: { ...route.actions, GET: index } },
            { ...route, path: ADMIN_PATH },
            {
              path: '*',
              actions: { GET: { requires: 'nothing', run: missing } },
              handler: async ({ req: { url, headers }, missing }) =>
                (await files.replyTo(url!, headers)) ??
                (prefersPage(headers.accept) ? files.index({ headers }) : Promise.reject(missing)),
            },
          ];
        }),
    };
  },
} satisfies Feature;

function missing(): never {
  throw noSuchPath();
}
