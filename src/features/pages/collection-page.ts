import { canSearch, type Resource } from '../../collection/resource.js';
import { type Html, html, type Part } from '../../formats/html.js';
import type { JsonObject } from '../../json.js';
import { bulkBar, bulkPage } from './bulk-page.js';
import { columnsOf, listColumns, undeclaredNames } from './columns.js';
import { declarationLink } from './declaration-page.js';
import { EXPORT, exportReply } from './export.js';
import { filterChips, filterPage } from './filter-page.js';
import { boxOf, hidden } from './form-html.js';
import { crumbsTo, editableOf } from './form-model.js';
import { groupsNav, groupsPage, isGroups } from './groups-page.js';
import { collectionLabel, wordsOf } from './labels.js';
import type { Crumb, PageContent } from './layout.js';
import { ListView, listQueryOf } from './list-query.js';
import { recordsTable } from './list-table.js';
import { isOpen } from './navigation.js';
import type { Page, PageOptions } from './pages.js';
import { recordForm } from './record-form-actions.js';
import { fillOf, newRecordPage } from './record-forms.js';
import { mayWrite, othersOf } from './site.js';

/** The page of a list: to search, filter, sort, choose and turn pages. `parent` is that above a nested one. */
export function listPage(resource: Resource, parent?: Resource): Page {
  return {
    query: listQueryOf,
    other: (context, list) => exportReply(resource, context, list),
    content: (shown) => contentOf(resource, parent, shown),
    refused: ({ status, message }, context) => {
      const { site, request } = context;
      if (status !== 400 || !request.query.text.includes('filter')) return undefined;
      const path = site.prefix + request.path;
      const view = new ListView(resource, path, request.query, othersOf(site));
      return filterPage(view, context, [{ text: collectionLabel(resource.name), href: path }], message);
    },
    form: bulkPage(resource, recordForm(editableOf(resource))),
  };
}

async function contentOf(
  resource: Resource,
  parent: Resource | undefined,
  shown: PageOptions,
): Promise<PageContent> {
  const { site, request, json, names } = shown;
  const path = site.prefix + request.path;
  const view = new ListView(resource, path, request.query, othersOf(site));
  const above = await crumbsTo(resource, shown);
  const given = request.query.parameters;
  const canCreate = mayWrite(site, request, resource, 'POST', request.params.id);
  if (given.has('_new') && canCreate) return newRecordPage(editableOf(resource), shown);
  if (given.has('_filter')) {
    const page = await filterPage(view, shown, above);
    return { ...page, body: html`${page.body}${groupsNav(view)}` };
  }
  if (isGroups(json)) return groupsPage(view, json, names, above);
  const { data, meta, links } = json as unknown as ListJson;
  if (given.has('_columns')) return columnsPage(view, data, above);
  await names.readFor(resource, data);
  const chosen = view.parameters.get('fields')?.split(',');
  const columns = listColumns(resource, chosen, data);
  const self = links.self.slice(links.self.indexOf('?') + 1);
  return {
    title: collectionLabel(resource.name),
    crumbs: above.slice(0, -1),
    tools: html`${declarationLink(shown, 'Declaration', resource.name)}<a class="button" href="${view.hrefWith({ _columns: '1' })}">Columns</a>${exportMenu(view, meta)}${invitationLink(resource, canCreate, shown)}${canCreate && html`<a class="button main" href="${path}?_new">New ${wordsOf(resource.singular)}</a>`}`,
    body: html`${searchBar(view, html`<span class="dim">${summaryOf(resource, data.length, meta)}</span>`)}
<div class="chips">${filterChips(view, names)}</div>
${data.length === 0 ? emptyText(view, canCreate) : recordsTable(resource, data, { view, names, columns: parent && !chosen ? columns.filter(({ name }) => name !== resource.parent?.field) : columns, bulk: bulkBar(resource, shown) })}
${pagesNav(links, meta)}`,
    query: self,
  };
}

interface ListJson {
  readonly data: readonly JsonObject[];
  readonly meta: { readonly page: number; readonly total?: number; readonly totalPages?: number };
  readonly links: Readonly<Record<string, string | null>> & { readonly self: string };
}

/** The search, and the way to the filters and to the groups. */
function searchBar(view: ListView, summary: Html): Html {
  const { resource, list, path } = view;
  const labels = columnsOf(resource)
    .filter(({ name }) => resource.searchable.includes(name) || resource.words.includes(name))
    .map(({ label }) => label.toLowerCase());
  const searched = `Search in ${labels.join(', ')}`;
  const retained = [...view.parameters].filter(([name]) => name !== 'search' && name !== 'page');
  return html`<div class="tools">${
    canSearch(resource) &&
    html`<form class="tools" role="search" aria-label="${collectionLabel(resource.name)}" action="${path}">${retained.map(([name, value]) => hidden(name, value))}<input type="search" name="search" aria-label="${searched}" placeholder="${searched}" value="${list.search}"><button>Search</button></form>`
  }<a class="button" href="${view.hrefWith({ _filter: '1' })}">Filter, sort, count</a>${summary}</div>`;
}

/** The page on which people choose the columns of a list, which the address has in `fields`. */
function columnsPage(view: ListView, data: readonly JsonObject[], crumbs: readonly Crumb[]): PageContent {
  const { resource, parameters, path } = view;
  const chosen = parameters.get('fields')?.split(',');
  const shown = new Set(chosen ?? listColumns(resource, undefined, data).map(({ name }) => name));
  const rest = undeclaredNames(resource, data).filter((name) => !/[,\\]/.test(name));
  const options = [
    ...columnsOf(resource).map(({ name, label }) => ({ name, label })),
    ...rest.map((name) => ({ name, label: name })),
  ].filter(({ name }) => name !== resource.display);
  const retained = [...parameters].filter(([name]) => name !== 'fields');
  const first = resource.display ?? 'id';
  return {
    title: `Columns of ${wordsOf(resource.name)}`,
    crumbs,
    body: html`<form class="edit" action="${path}">${retained.map(([name, value]) => hidden(name, value))}${hidden('fields', first)}
<div class="checks">${options.map(
      ({ name, label }) => html`${boxOf('fields', name, label, shown.has(name))}\n`,
    )}</div><p><button class="main">Show</button> <a href="${view.hrefWith({ fields: null })}">The usual columns</a></p></form>`,
  };
}

/** The way to create a record for a person by an invitation, below the record `above`, where the service sends messages. */
export const invitationLink = (
  { name, parent, invited }: Resource,
  canCreate: boolean,
  { site, request }: PageOptions,
  above = request.params.id,
): Part =>
  invited !== undefined &&
  canCreate &&
  isOpen(site, '/invitations', request) &&
  html`<a class="button" href="${site.prefix}/invitations?${String(new URLSearchParams({ _new: '', ...(parent && above !== undefined && { [fillOf('create', name, parent.field)]: above }) }))}">Invite</a>`;

/** Links to files with all records that the list selects, and to the page as it is. */
function exportMenu(view: ListView, { total }: ListJson['meta']): Html {
  const many = total === undefined ? 'All' : `All ${total.toLocaleString('en')}`;
  return html`<details class="pop"><summary class="button">Export</summary><div class="links">
<a href="${view.hrefWith({ [EXPORT]: 'csv' })}">${many} for a spreadsheet (CSV)</a>
<a href="${view.hrefWith({ [EXPORT]: 'json' })}">${many} as JSON</a></div></details>`;
}

function emptyText(view: ListView, canCreate: boolean): Html {
  const { resource, path, parameters } = view;
  const many = wordsOf(resource.name);
  const isSelected = [...parameters.keys()].some((name) => name === 'search' || name.startsWith('filter['));
  const others = columnsOf(resource).filter(({ kind }) => kind === 'reference');
  const byName =
    parameters.has('search') &&
    others.length > 0 &&
    html`<p><a href="${view.hrefWith({ search: null, _filter: '1' })}">Filter by the name of ${others.map(({ label }) => label.toLowerCase()).join(', ')}</a>, which no search finds.</p>`;
  if (isSelected) return html`<p>No ${many} match. <a href="${path}">Show all</a></p>${byName}`;
  return html`<p>There are no ${many} yet.${canCreate && html` <a href="${path}?_new">Create the first one</a>`}</p>`;
}

function summaryOf({ name, singular }: Resource, shown: number, { page, total }: ListJson['meta']): string {
  if (total === undefined) return `${shown} records on page ${page}`;
  return `${total.toLocaleString('en')} ${total === 1 ? wordsOf(singular) : wordsOf(name)}`;
}

/** Links to the other pages: by number where the number of pages is known. */
export function pagesNav(
  links: Readonly<Record<string, string | null>>,
  { page = 1, totalPages }: { readonly page?: number; readonly totalPages?: number } = {},
): Part {
  const link = (name: string, text: string) => {
    const href = links[name];
    return typeof href === 'string' && href !== links.self && html` <a href="${href}">${text}</a>`;
  };
  const first = links.first;
  if (totalPages === undefined || typeof first !== 'string') {
    const others = ['first', 'prev', 'next', 'last'].map((name) => link(name, name));
    return others.some((each) => each) && html`<nav class="pages" aria-label="Pages">${others}</nav>`;
  }
  if (totalPages <= 1) return undefined;
  const numbers = [...new Set([1, page - 1, page, page + 1, totalPages])].filter(
    (n) => n >= 1 && n <= totalPages,
  );
  const items = numbers.map((n, at) => [
    at > 0 && n - numbers[at - 1]! > 1 && html` <span>…</span>`,
    n === page
      ? html` <b aria-current="page">${n}</b>`
      : html` <a href="${first.replace(/([?&]page=)1(&|$)/, `$1${n}$2`)}" aria-label="Page ${n}">${n}</a>`,
  ]);
  return html`<nav class="pages" aria-label="Pages">${link('prev', 'Previous')}${items}${link('next', 'Next')}</nav>`;
}
