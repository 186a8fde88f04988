import { type Html, html, type Part } from '../../formats/html.js';
import { type JsonObject, member } from '../../json.js';
import { conditionName, escapeName } from '../../list/query-names.js';
import { groupKeys } from '../../list/read-groups.js';
import { listParameters } from '../../list/read-list.js';
import { columnsOf } from './columns.js';
import { filterChips } from './filter-page.js';
import { YES_OR_NO } from './form-html.js';
import { fieldLabel } from './labels.js';
import type { Crumb, PageContent } from './layout.js';
import { cellOf } from './list-cells.js';
import type { ListView } from './list-query.js';
import { type Head, tableOf } from './list-table.js';
import type { Names } from './names.js';

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
    const label = columnsOf(resource).find((each) => each.name === name)?.label ?? fieldLabel(name);
    return html`<a href="${href}">${label}</a>`;
  });
  return html`<h2>Count by</h2>\n<p class="links">${links}</p>`;
}

/** The groups of a list. The value of a field leads to the records that have it. */
export async function groupsPage(
  view: ListView,
  { data }: GroupsJson,
  known: Names,
  crumbs: readonly Crumb[],
): Promise<PageContent> {
  const { resource, parameters } = view;
  const names = (parameters.get('group') ?? '').split(',');
  const keys = groupKeys(resource).filter(
    ({ name, period }) => period === undefined && names.includes(escapeName(name)),
  );
  const ungrouped = { group: null, aggregate: null, sort: null, limit: null };
  const hrefOf = (group: JsonObject, name: string) => {
    if (!keys.some((key) => key.name === name)) return undefined;
    const value = group[name];
    const condition = value === null ? conditionName(name, 'null') : conditionName(name);
    return view.hrefWith({ ...ungrouped, [condition]: value === null ? 'true' : String(value) });
  };
  const all = view.hrefWith(ungrouped);
  await known.readFor(resource, data);
  const columns = columnsOf(resource);
  const columnOf = (name: string) => columns.find((each) => each.name === name);
  const labels = names.map((name) => columnOf(name)?.label ?? fieldLabel(name));
  const members = Object.keys(data[0] ?? {}).filter((name) => !name.startsWith('_'));
  const heads = members.map((name): Head => {
    const isNumber = data.every((group) => typeof member(group, name) === 'number');
    const label = columnOf(name)?.label ?? fieldLabel(name);
    return { label, style: isNumber && !names.includes(name) ? 'number' : undefined };
  });
  const counts = data.map(({ count }) => Number(count ?? 0));
  const max = Math.max(1, ...counts);
  const rows = data.map((group, at) => [
    ...members.map((name) => {
      const value = member(group, name);
      const href = hrefOf(group, name);
      const flag = typeof value === 'boolean' ? YES_OR_NO[String(value)] : undefined;
      const text = flag ?? (typeof value === 'string' ? known.of(value) : undefined) ?? cellOf(value);
      return href === undefined ? text : html`<a href="${href}">${text || 'none'}</a>`;
    }),
    bar(counts[at]! / max),
  ]);
  return {
    title: `By ${labels.join(' and ').toLowerCase()}`,
    crumbs,
    body: html`<div class="chips">${filterChips(view, known)}<span class="dim">${data.length} ${data.length === 1 ? 'group' : 'groups'}</span> <a href="${all}">The records</a></div>
${data.length === 0 ? html`<p>There are no groups.</p>` : tableOf([...heads, { label: 'Share', style: 'bar' }], rows)}`,
  };
}

/** A number of records as a part of the largest one: the table has the number beside it. */
const bar = (part: number): Html =>
  html`<svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect width="${Math.max(1, Math.round(100 * part))}" height="8"></rect></svg>`;
