import { hrefOf, referenceOf } from '../../collection/representation.js';
import type { Resource } from '../../collection/resource.js';
import { type Html, html, type Part } from '../../formats/html.js';
import type { JsonObject } from '../../json.js';
import { addedColumns } from './added-columns.js';
import { filterForm } from './filter-form.js';
import { editableOf } from './form-model.js';
import { groupsNav, groupsPage, isGroups } from './groups-page.js';
import type { Crumb, PageContent } from './layout.js';
import { ListView, listQueryOf } from './list-query.js';
import { listTable, sortLink } from './list-table.js';
import type { Page, PageOptions } from './pages.js';
import { creationAction } from './record-form-actions.js';
import { createDetails } from './record-forms.js';
import { othersOf } from './site.js';

/** The page of a list: to search, filter, sort and turn pages. `parent` is that above a nested one. */
export function listPage(resource: Resource, parent?: Resource): Page {
  return {
    query: listQueryOf,
    content: (shown) => contentOf(resource, parent, shown),
    form: creationAction(editableOf(resource)),
  };
}

function contentOf(resource: Resource, parent: Resource | undefined, shown: PageOptions): PageContent {
  const { site, request, json } = shown;
  const path = site.prefix + request.path;
  const view = new ListView(resource, path, request.query, othersOf(site));
  if (isGroups(json))
    return groupsPage(view, json, [...crumbsTo(parent, shown), { text: resource.name, href: path }]);
  const { data, meta, links } = json as unknown as ListJson;
  const sorts = view.sorts();
  const own = (record: JsonObject, field: string) =>
    field === 'id' ? hrefOf(resource, String(record.id)) : referenceOf(resource, record, field);
  const self = links.self.slice(links.self.indexOf('?') + 1);
  return {
    title: capitalized(resource.name),
    crumbs: [...crumbsTo(parent, shown), { text: resource.name }],
    body: html`${filterForm(view)}
${createDetails(editableOf(resource), shown)}
<p class="dim">${summaryOf(data.length, meta)}</p>
${groupsNav(view)}
${sorts.length > 0 && html`<nav class="sorts" aria-label="Sort"><span>Sort by</span>${sorts.map((sort) => html` ${sortLink(sort, sort.field)}`)}</nav>`}
${listTable(data, own, sorts, addedColumns(view.list, data, site.collections))}
${pagesNav(links)}`,
    query: self,
  };
}

interface ListJson {
  readonly data: readonly JsonObject[];
  readonly meta: { readonly page: number; readonly total?: number; readonly totalPages?: number };
  readonly links: Readonly<Record<string, string | null>> & { readonly self: string };
}

export const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

function crumbsTo(parent: Resource | undefined, { site, request }: PageOptions): Crumb[] {
  const home = { text: 'Home', href: `${site.prefix}/` };
  if (!parent) return [home];
  const { name, singular } = parent;
  const up = `${site.prefix}/${name}`;
  return [home, { text: name, href: up }, { text: singular, href: `${up}/${request.params.id}` }];
}

function summaryOf(shown: number, { page, total, totalPages }: ListJson['meta']): string {
  if (total === undefined) return `${shown} records on page ${page}`;
  const records = total === 1 ? '1 record' : `${total.toLocaleString('en')} records`;
  return totalPages === undefined || totalPages <= 1 ? records : `${records}, page ${page} of ${totalPages}`;
}

const PAGES = ['first', 'prev', 'next', 'last'];

/** Links to the other pages. */
export function pagesNav(links: Readonly<Record<string, string | null>>): Part {
  const others = PAGES.flatMap((name): Html[] => {
    const href = links[name];
    return typeof href === 'string' && href !== links.self ? [html` <a href="${href}">${name}</a>`] : [];
  });
  return others.length > 0 && html`<nav class="pages" aria-label="Pages">${others}</nav>`;
}
