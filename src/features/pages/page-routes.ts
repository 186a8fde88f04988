import { ERRORS_PATH } from '../../api/document-endpoints.js';
import { type Description, type Endpoint, offerOf } from '../../api/endpoint.js';
import type { Kind } from '../../api/kind.js';
import type { Resource } from '../../collection/resource.js';
import type { Route } from '../../http/router.js';
import { apiPage } from './api-page.js';
import { listPage } from './collection-page.js';
import { DECLARATIONS_PATH } from './declaration-files.js';
import { declarationPage } from './declaration-page.js';
import { errorCodePage, errorsPage, jobPage, jobsPage, whoamiPage } from './document-pages.js';
import { eventsPage } from './events-page.js';
import { formEndpoint, type PageForm } from './form-action.js';
import { homePage } from './home-page.js';
import { managedPages, rotationForms } from './managed-pages.js';
import { type Page, withHtml, withPage } from './pages.js';
import { recordPage } from './record-page.js';
import type { Site } from './site.js';
import { VERSIONS_PATH, versionsPage } from './versions-page.js';

/** Pages, and the forms of addresses that have none, by the templates of their paths. */
interface Added {
  readonly pages: readonly (readonly [path: string, page: Page])[];
  readonly forms: readonly (readonly [path: string, form: PageForm])[];
}

/** The pages and forms of deliveries; none, without a file of webhooks, in a service that has no webhooks. */
export async function deliveryPagesFor(endpoints: readonly Description[]): Promise<Added> {
  if (!endpoints.some(({ path }) => path === '/webhooks')) return { pages: [], forms: [] };
  const { DELIVERY_FORMS, DELIVERY_PAGES } = await import('./delivery-pages.js');
  return { pages: DELIVERY_PAGES, forms: DELIVERY_FORMS };
}

/** The descriptions of endpoints, those with pages offering them. */
export async function describePages(
  endpoints: readonly Endpoint[],
  resources: readonly Resource[],
): Promise<Endpoint[]> {
  const pages = pagesOf('/', kindsOf(endpoints), resources, await deliveryPagesFor(endpoints));
  return endpoints.map((each) => {
    const isPage = each.method === 'GET' && !each.handle && pages.has(each.path);
    return isPage ? { ...each, offers: withHtml(offerOf(each).offers) } : each;
  });
}

/** The routes of an API, whose representations for people are pages. */
export function withPages(
  routes: readonly Route[],
  kinds: readonly Kind[],
  deliveries: Added,
  site: Site,
): Route[] {
  const resources = site.collections.map(({ resource }) => resource);
  const pages = pagesOf(site.home, kinds, resources, deliveries);
  const forms = new Map([...kinds.flatMap(rotationForms), ...deliveries.forms]);
  return routes.map((route) => {
    const page = pages.get(route.path);
    if (page) return withPage(route, page, site);
    const form = forms.get(route.path);
    return form ? { ...route, form: formEndpoint(route, form, site) } : route;
  });
}

/** The kinds of the things that endpoints list. */
export const kindsOf = (endpoints: readonly Description[]): Kind[] =>
  endpoints.flatMap(({ kind }) => kind ?? []);

/** The pages by the template of their path. */
function pagesOf(
  home: string,
  kinds: readonly Kind[],
  resources: readonly Resource[],
  deliveries: Added,
): ReadonlyMap<string, Page> {
  const find = (name: string) => resources.find((resource) => resource.name === name);
  return new Map<string, Page>([
    [home, homePage],
    ['/docs', apiPage],
    [DECLARATIONS_PATH, declarationPage],
    [VERSIONS_PATH, versionsPage],
    [ERRORS_PATH, errorsPage],
    [`${ERRORS_PATH}/:code`, errorCodePage],
    ['/whoami', whoamiPage],
    ['/jobs', jobsPage],
    ['/jobs/:id', jobPage],
    ['/events', eventsPage],
    ...kinds.flatMap((kind) => managedPages(kind, resources)),
    ...deliveries.pages,
    ...resources.flatMap((resource): [string, Page][] => {
      const { name, parent } = resource;
      const above = parent && find(parent.to);
      return [
        [`/${name}`, listPage(resource)],
        [`/${name}/:id`, recordPage(resource)],
        ...(above ? [[`/${parent.to}/:id/${name}`, listPage(resource, above)] as [string, Page]] : []),
      ];
    }),
  ]);
}
