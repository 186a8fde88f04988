import { canSearch, type Resource } from '../../collection/resource.js';
import { type Html, hidden, html, type Part } from '../../formats/html.js';
import type { JsonObject } from '../../json.js';
import { hasGroups } from '../../list/read-groups.js';
import { bulkBar, bulkPage } from './bulk-page.js';
import { columnsOf, labelOf, listColumns, undeclaredNames } from './columns.js';
import { declarationLink } from './declaration-page.js';
import { EXPORT, exportReply } from './export.js';
import { filterChips, filterPage } from './filter-page.js';
import { boxesOf } from './form-html.js';
import { crumbsTo, editableOf } from './form-model.js';
import { groupsNav, groupsPage } from './groups-page.js';
import { collectionLabel, wordsOf } from './labels.js';
import type { PageContent } from './layout.js';
import { ListView, listQueryOf } from './list-query.js';
import { recordsTable } from './list-table.js';
import type { Page, PageOptions } from './pages.js';
import { recordForm } from './record-form-actions.js';
import { fillOf, newRecordPage } from './record-forms.js';
import { mayUse, mayWrite } from './site.js';

/** The page of a list, perhaps below a record: to search, filter, sort, choose and turn pages. */
export function listPage(resource: Resource): Page {
  return {
    query: listQueryOf,
    other: (context, list) => exportReply(resource, context, list),
    content: (shown) => contentOf(resource, shown),
    // Also refused: fields that access rules show of no record.
    refused: async (problem, { site, request }) => {
      if (problem.status !== 400 && problem.code !== 'FIELDS_DENIED') return undefined;
      const view = new ListView(resource, site, request);
      const crumbs = [{ text: collectionLabel(resource.name), href: view.path }];
      return { ...(await filterPage(view, request, problem)), crumbs };
    },
    form: bulkPage(resource, recordForm(editableOf(resource))),
  };
}

async function contentOf(resource: Resource, shown: PageOptions): Promise<PageContent> {
  const { site, request, json, names } = shown;
  const view = new ListView(resource, site, request);
  const crumbs = await crumbsTo(resource, shown);
  const given = request.query.parameters;
  const canCreate = mayWrite(site, request, resource, 'POST', request.params.id);
  if (given.has('_new') && canCreate) return newRecordPage(editableOf(resource), shown);
  if (given.has('_filter')) {
    const page = await filterPage(view, request);
    return { ...page, crumbs, body: html`${page.body}${groupsNav(view)}` };
  }
  const { data, meta, links } = json as unknown as ListJson;
  if (hasGroups(view.parameters)) return { ...(await groupsPage(view, data, names)), crumbs };
  if (given.has('_columns')) return { ...columnsPage(view, data), crumbs };
  await names.readFor(resource, data);
  const above = request.params.id === undefined ? undefined : resource.parent?.field;
  const columns = listColumns(resource, view.chosen, data).filter(
    ({ name }) => view.chosen || name !== above,
  );
  const count = html`${meta.total.toLocaleString('en')} ${wordsOf(meta.total === 1 ? resource.singular : resource.name)}`;
  const bulk = bulkBar(resource, shown);
  const table = recordsTable(view, data, columns, names, bulk !== undefined);
  return {
    title: collectionLabel(resource.name),
    crumbs: crumbs.slice(0, -1),
    tools: html`${declarationLink(shown, 'Declaration', resource.name)}<a class="button" href="${view.hrefWith({ _columns: '1' })}">Columns</a>${exportMenu(view)}${invitationLink(resource, canCreate, shown)}${canCreate && html`<a class="button main" href="${view.path}?_new">New ${wordsOf(resource.singular)}</a>`}`,
    body: html`${searchBar(view, html`<span class="dim">${count}</span>`)}
<div class="chips">${await filterChips(view, names)}</div>
${data.length === 0 ? emptyText(view, canCreate) : (bulk?.(table) ?? table)}
${pagesNav(links, meta)}`,
  };
}

interface ListJson {
  readonly data: readonly JsonObject[];
  readonly meta: { readonly page: number; readonly total: number; readonly totalPages: number };
  readonly links: Readonly<Record<string, string | null>>;
}

/** The search, and the way to the filters and to the groups. */
function searchBar(view: ListView, summary: Html): Html {
  const { resource, parameters, path } = view;
  const searched = [...resource.searchable, ...resource.words].map((each) =>
    labelOf(resource, each).toLowerCase(),
  );
  const label = `Search in ${[...new Set(searched)].join(', ')}`;
  return html`<div class="tools">${
    canSearch(resource) &&
    html`<form class="tools" role="search" aria-label="${collectionLabel(resource.name)}" action="${path}">${view.without('search', 'page')}<input type="search" name="search" aria-label="${label}" placeholder="${label}" value="${parameters.get('search') ?? ''}"><button>Search</button></form>`
  }<a class="button" href="${view.hrefWith({ _filter: '1' })}">Filter, sort, count</a>${summary}</div>`;
}

/** The page on which people choose the columns of a list, which the address has in `fields`. */
function columnsPage(view: ListView, data: readonly JsonObject[]): PageContent {
  const { resource, chosen, path } = view;
  const shown = chosen ?? listColumns(resource, undefined, data).map(({ name }) => name);
  const rest = undeclaredNames(resource, data).filter((name) => !/[,\\]/.test(name));
  const all = [...columnsOf(resource).map(({ name }) => name), ...rest];
  const options = listColumns(resource, all, data).map(({ name, label }) => [name, label] as const);
  return {
    title: `Columns of ${wordsOf(resource.name)}`,
    body: html`<form class="edit" action="${path}">${view.without('fields')}${hidden('fields', resource.display ?? 'id')}
${boxesOf('fields', options, shown)}<p><button class="main">Show</button> <a href="${view.hrefWith({ fields: null })}">The usual columns</a></p></form>`,
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
  mayUse(site, request, '/invitations') &&
  html`<a class="button" href="${site.prefix}/invitations?${String(new URLSearchParams({ _new: '', ...(parent && above !== undefined && { [fillOf('create', name, parent.field)]: above }) }))}">Invite</a>`;

/** Links to files with all records that the list selects. */
const exportMenu = (view: ListView): Html =>
  html`<details class="pop"><summary class="button">Export</summary><div class="links">
<a href="${view.hrefWith({ [EXPORT]: 'csv' })}">All that match, for a spreadsheet (CSV)</a>
<a href="${view.hrefWith({ [EXPORT]: 'json' })}">All that match, as JSON</a></div></details>`;

function emptyText(view: ListView, canCreate: boolean): Html {
  const { resource, path, selection } = view;
  const many = wordsOf(resource.name);
  if (selection.size > 0)
    return html`<p>No ${many} match. <a href="${path}">Show all</a>, or <a href="${view.hrefWith({ search: null, _filter: '1' })}">filter by the names of others</a>, which no search finds.</p>`;
  return html`<p>There are no ${many} yet.${canCreate && html` <a href="${path}?_new">Create the first one</a>`}</p>`;
}

/** Links to the other pages: by number where the number of pages is known. */
export function pagesNav(links: ListJson['links'], meta: Partial<ListJson['meta']> = {}): Part {
  const { page = 1, totalPages = 0 } = meta;
  const link = (name: string, text: string) =>
    links[name] ? html` <a href="${links[name]}">${text}</a>` : undefined;
  const numbers = [...new Set([1, page - 1, page, page + 1, totalPages])].filter(
    (n) => n >= 1 && n <= totalPages,
  );
  const items = numbers.map((n, at) => [
    at > 0 && n - numbers[at - 1]! > 1 && html` <span>…</span>`,
    n === page
      ? html` <b aria-current="page">${n}</b>`
      : html` <a href="${links.first!.replace(/([?&]page=)1(&|$)/, `$1${n}$2`)}" aria-label="Page ${n}">${n}</a>`,
  ]);
  const parts = [link('prev', 'Previous'), items.length > 1 && items, link('next', 'Next')];
  return parts.some((each) => each) && html`<nav class="pages" aria-label="Pages">${parts}</nav>`;
}
