import { type Html, html, type Part } from '../../formats/html.js';
import type { JsonObject } from '../../json.js';
import { conditionName, escapeName } from '../../list/query-names.js';
import { groupKeys } from '../../list/read-groups.js';
import { listParameters } from '../../list/read-list.js';
import { filterForm } from './filter-form.js';
import type { Crumb, PageContent } from './layout.js';
import type { ListView } from './list-query.js';
import { listTable } from './list-table.js';

interface GroupsJson extends JsonObject {
  readonly data: JsonObject[];
  readonly meta: { readonly groups: number };
}

export const isGroups = (json: JsonObject): json is GroupsJson =>
  (json.meta as JsonObject | undefined)?.groups !== undefined;

/** Most links of a list to its groups. */
const MAX_LINKS = 8;
/** The parameters that groups do not have. */
const OF_RECORDS = ['sort', 'order', 'limit', 'fields', 'include', 'count'];

/** Links to the numbers of records by the fields with few values: those with a list of values, references, and yes or no. */
export function groupsNav(view: ListView): Part {
  const { resource } = view;
  const few = groupKeys(resource).filter(
    ({ field, column, period }) =>
      period === undefined &&
      (column.type === 'boolean' ||
        column.type === 'uuid' ||
        Array.isArray((resource.schema.properties[field] as JsonObject | undefined)?.enum)),
  );
  if (few.length === 0) return undefined;
  const sort = listParameters(resource).includes('sort') ? { sort: '-count' } : {};
  const without = Object.fromEntries(OF_RECORDS.map((name) => [name, null]));
  const links = few.slice(0, MAX_LINKS).map(({ name }) => {
    const href = view.hrefWith({ ...without, group: escapeName(name), ...sort });
    return html` <a href="${href}">${name}</a>`;
  });
  return html`<nav class="sorts" aria-label="Count"><span>Count by</span>${links}</nav>`;
}

/** The groups of a list. The value of a field leads to the records that have it. */
export function groupsPage(view: ListView, { data }: GroupsJson, crumbs: readonly Crumb[]): PageContent {
  const { resource, parameters } = view;
  const names = (parameters.get('group') ?? '').split(',');
  const keys = groupKeys(resource).filter(
    ({ name, period }) => period === undefined && names.includes(escapeName(name)),
  );
  const hrefOf = (group: JsonObject, name: string) => {
    if (!keys.some((key) => key.name === name)) return undefined;
    const value = group[name];
    const condition = value === null ? conditionName(name, 'null') : conditionName(name);
    return view.hrefWith({
      group: null,
      aggregate: null,
      sort: null,
      limit: null,
      [condition]: value === null ? 'true' : String(value),
    });
  };
  const all = view.hrefWith({ group: null, aggregate: null, sort: null, limit: null });
  return {
    title: `Groups of ${resource.name}`,
    crumbs: [...crumbs, { text: 'groups' }],
    body: html`${filterForm(view)}
<p class="dim">${data.length} ${data.length === 1 ? 'group' : 'groups'}. ${link(all)}</p>
${listTable(data, hrefOf)}`,
  };
}

const link = (href: string): Html => html`<a href="${href}">The records</a>`;
