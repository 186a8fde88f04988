import { STRANGER } from '../../auth/principal.js';
import type { Resource } from '../../collection/resource.js';
import type { ScopedCollection } from '../../feature.js';
import { type Html, html } from '../../formats/html.js';
import { readsAll } from '../../policy/policy.js';
import { type Caller, readListAs } from './inner-read.js';
import { collectionLabel } from './labels.js';
import { collectionsFor, mayUse, type Site } from './site.js';

/** For how long a number of records in the navigation holds. */
const COUNT_MS = 5000;

/** The pages about the service itself, by their paths. */
export const SERVICE: readonly (readonly [path: string, label: string])[] = [
  ['/user-accounts', 'Accounts'],
  ['/invitations', 'Invitations'],
  ['/keys', 'Keys'],
  ['/webhooks', 'Webhooks'],
  ['/oauth-clients', 'Applications'],
  ['/jobs', 'Jobs'],
  ['/api-versions', 'Versions'],
  ['/events', 'Changes'],
  ['/docs', 'API documents'],
];

/** The number of records of a collection of which the caller may read all: pages share what one of them has read in the last seconds. */
export async function countOf(site: Site, caller: Caller, resource: Resource): Promise<number | undefined> {
  if (resource.hasRules || !readsAll(resource, caller.principal)) return undefined;
  const { name } = resource;
  const known = site.counts.get(name);
  if (known && Date.now() - known.at < COUNT_MS) return known.total;
  const total = readListAs(site, caller, `/${name}`, { limit: '1' }).then((list) => list?.total);
  site.counts.set(name, { at: Date.now(), total });
  total.catch(() => site.counts.delete(name));
  return total;
}

/** The collections by their groups, and the pages about the service, as far as the caller may use them. `reads`: with numbers. */
export async function navigation(site: Site, request: Caller, reads: boolean): Promise<Html> {
  const known = listedFor(site, request);
  const totals = await Promise.all(
    known.map(({ resource }) => (reads ? countOf(site, request, resource) : undefined)),
  );
  const groups = byGroup(known, ({ resource: { name } }, at) =>
    item(site, request, `/${name}`, collectionLabel(name), totals[at]),
  );
  const service = SERVICE.filter(([path]) => mayUse(site, request, path)).map(([path, label]) =>
    item(site, request, path, label),
  );
  if (service.length > 0) groups.push(['Service', service]);
  return html`<nav class="side" id="menu" aria-label="Collections">${groups.map(([group, items]) => html`<h2>${group}</h2><ul>${items}</ul>`)}</nav>`;
}

/** The collections whose lists a caller may open by its scopes. A stranger may sign in. */
export const listedFor = (site: Site, request: Caller): readonly ScopedCollection[] =>
  collectionsFor(site, request.principal).filter(
    ({ resource }) => request.principal === STRANGER || mayUse(site, request, `/${resource.name}`),
  );

/** Collections by their groups. */
export function byGroup(
  collections: readonly ScopedCollection[],
  itemOf: (collection: ScopedCollection, at: number) => Html,
): [group: string, items: readonly Html[]][] {
  const groups = new Map<string, Html[]>();
  collections.forEach((each, at) => {
    const { group = 'Collections' } = each.resource;
    groups.set(group, [...(groups.get(group) ?? []), itemOf(each, at)]);
  });
  return [...groups];
}

function item(site: Site, { path }: Caller, to: string, label: string, total?: number): Html {
  const isCurrent = path === to || path.startsWith(`${to}/`);
  return html`<li><a href="${site.prefix}${to}"${isCurrent && html` aria-current="page"`}>${label}${total !== undefined && html` <small>${total.toLocaleString('en')}</small>`}</a></li>`;
}
