import { type Html, html, type Part } from '../../formats/html.js';
import type { ErrorPageRequest } from '../../http/request.js';
import { visible } from '../../http/router.js';
import { mayRead, readsAll } from '../../policy/policy.js';
import { type Caller, readListAs } from './inner-read.js';
import { collectionLabel } from './labels.js';
import { collectionsFor, type Site } from './site.js';

/** For how long a number of records in the navigation holds. */
const COUNT_MS = 5000;

/** The pages about the service itself, by their paths. */
const SERVICE: readonly (readonly [path: string, label: string])[] = [
  ['/keys', 'Keys'],
  ['/webhooks', 'Webhooks'],
  ['/oauth-clients', 'Applications'],
  ['/jobs', 'Jobs'],
  ['/events', 'Changes'],
  ['/docs', 'API documents'],
];

/** Reads the numbers of records that the navigation shows: of collections of which the caller may read all records. */
export async function readCounts(site: Site, caller: Caller): Promise<void> {
  const now = Date.now();
  const due = collectionsFor(site, caller.principal).filter(
    ({ resource }) =>
      isCounted(site, resource.name, caller) && !(now - (site.counts.get(resource.name)?.at ?? 0) < COUNT_MS),
  );
  await Promise.all(
    due.map(async ({ resource: { name } }) => {
      // Other pages show the number of before meanwhile.
      site.counts.set(name, { at: now, total: site.counts.get(name)?.total });
      const list = await readListAs(site, caller, { template: `/${name}` }, { limit: '1' });
      site.counts.set(name, { at: now, total: list?.total });
    }),
  );
}

function isCounted({ collections }: Site, name: string, { principal }: Pick<Caller, 'principal'>): boolean {
  const { resource } = collections.find((each) => each.resource.name === name)!;
  return !resource.hasRules && mayRead(resource, principal) && readsAll(resource, principal);
}

/** The collections by their groups, and the pages about the service, as far as the caller may use them. */
export function navigation(site: Site, request: ErrorPageRequest): Html {
  const groups = new Map<string, Part[]>();
  for (const { resource } of collectionsFor(site, request.principal)) {
    const { name, group = 'Collections' } = resource;
    const total = isCounted(site, name, request) ? site.counts.get(name)?.total : undefined;
    groups.set(group, [
      ...(groups.get(group) ?? []),
      item(site, request, `/${name}`, collectionLabel(name), total),
    ]);
  }
  const service = SERVICE.filter(([path]) => isOpen(site, path, request)).map(([path, label]) =>
    item(site, request, path, label),
  );
  if (service.length > 0) groups.set('Service', service);
  return html`<nav class="side" id="menu" aria-label="Collections">${[...groups].map(([group, items]) => html`<h2>${group}</h2><ul>${items}</ul>`)}</nav>`;
}

/** Whether a page exists, and the caller may open it. Keys exist where they are accepted. */
function isOpen({ routes, auth }: Site, path: string, { principal }: ErrorPageRequest): boolean {
  if (path === '/keys' && !auth.includes('api-key') && !auth.includes('mtls')) return false;
  const get = routes.get(path)?.actions.GET;
  return get !== undefined && visible(principal, get);
}

function item(site: Site, { path }: ErrorPageRequest, to: string, label: string, total?: number): Html {
  const isCurrent = path === to || path.startsWith(`${to}/`);
  return html`<li><a href="${site.prefix}${to}"${isCurrent && html` aria-current="page"`}>${label}${total !== undefined && html` <small>${total.toLocaleString('en')}</small>`}</a></li>`;
}
