import { ERRORS_PATH } from '../../actions/errors.js';
import type { Route } from '../../http/router.js';
import { DELIVERY_PAGES } from './delivery-pages.js';
import { errorCodePage, errorsPage, whoamiPage } from './document-pages.js';
import { eventsPage } from './events-page.js';
import { formEndpoint } from './form-action.js';
import { homePage } from './home-page.js';
import { keyPages } from './key-pages.js';
import { listPage } from './list-page.js';
import { type Page, withPage } from './pages.js';
import { recordPage } from './record-page.js';
import type { Site } from './site.js';
import { WEBHOOK_FORMS, webhookPages } from './webhook-pages.js';

/** The routes of an API, whose representations for people are pages. */
export function withPages(routes: readonly Route[], site: Site): Route[] {
  const pages = pagesOf(site);
  const forms = new Map(WEBHOOK_FORMS);
  return routes.map((route) => {
    const page = pages.get(route.path);
    if (page) return withPage(route, page, site);
    const form = forms.get(route.path);
    return form ? { ...route, form: formEndpoint(route, form, site) } : route;
  });
}

/** The pages by the template of their path. */
function pagesOf(site: Site): ReadonlyMap<string, Page> {
  const { collections } = site;
  const find = (name: string) => collections.find(({ resource }) => resource.name === name);
  return new Map<string, Page>([
    ['/', homePage],
    [ERRORS_PATH, errorsPage],
    [`${ERRORS_PATH}/:code`, errorCodePage],
    ['/whoami', whoamiPage],
    ['/events', eventsPage],
    ...keyPages(site),
    ...webhookPages(site),
    ...DELIVERY_PAGES,
    ...collections.flatMap((collection): [string, Page][] => {
      const { name, parent } = collection.resource;
      const above = parent && find(parent.to);
      return [
        [`/${name}`, listPage(collection)],
        [`/${name}/:id`, recordPage(collection)],
        ...(above ? [[`/${parent.to}/:id/${name}`, listPage(collection, above)] as [string, Page]] : []),
      ];
    }),
  ]);
}
