import { type Description, type Endpoint, offerOf } from '../../api/endpoint.js';
import type { Resource } from '../../collection/resource.js';
import type { Route } from '../../http/router.js';
import { apiPage } from './api-page.js';
import { listPage } from './collection-page.js';
import { DECLARATIONS_PATH } from './declaration-files.js';
import { declarationPage } from './declaration-page.js';
import { eventsPage } from './events-page.js';
import { homePage } from './home-page.js';
import { managedPages } from './managed-pages.js';
import { type Page, withHtml, withPage } from './pages.js';
import { recordPage } from './record-page.js';
import { SERVICE_PAGES } from './service-pages.js';
import type { Site } from './site.js';

/** The descriptions of endpoints, those with pages offering them. */
export function describePages(endpoints: readonly Endpoint[], resources: readonly Resource[]): Endpoint[] {
  const pages = pagesOf('/', endpoints, resources);
  return endpoints.map((each) => {
    const isPage = each.method === 'GET' && !each.handle && pages.get(each.path)?.content;
    return isPage ? { ...each, offers: withHtml(offerOf(each).offers) } : each;
  });
}

/** The routes of an API, whose representations for people are pages. */
export function withPages(routes: readonly Route[], endpoints: readonly Description[], site: Site): Route[] {
  const resources = site.collections.map(({ resource }) => resource);
  const pages = pagesOf(site.home, endpoints, resources);
  return routes.map((route) => {
    const page = pages.get(route.path);
    return page ? withPage(route, page, site) : route;
  });
}

/** The pages by the template of their path. */
function pagesOf(
  home: string,
  endpoints: readonly Description[],
  resources: readonly Resource[],
): ReadonlyMap<string, Page> {
  const records = resources.flatMap((resource): [string, Page][] => {
    const { name, parent } = resource;
    return [
      [`/${name}`, listPage(resource)],
      [`/${name}/:id`, recordPage(resource)],
      ...(parent ? [[`/${parent.to}/:id/${name}`, listPage(resource)] as [string, Page]] : []),
    ];
  });
  return new Map<string, Page>([
    [home, homePage],
    ['/docs', apiPage],
    [DECLARATIONS_PATH, declarationPage],
    ['/events', eventsPage],
    ...Object.entries(SERVICE_PAGES),
    ...endpoints.flatMap(({ kind }) => (kind ? Object.entries(managedPages(kind, resources)) : [])),
    ...records,
  ]);
}
