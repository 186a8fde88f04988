import type { Resource } from '../../collection/resource.js';
import { html, type Part } from '../../formats/html.js';
import { type JsonObject, member } from '../../json.js';
import { conditionName, escapeName } from '../../list/query-names.js';
import { groupKeys } from '../../list/read-groups.js';
import { listParameters } from '../../list/read-list.js';
import { type ColumnKind, columnOf, labelOf } from './columns.js';
import { filterChips } from './filter-page.js';
import type { ListView } from './list-query.js';
import { type Head, tableOf } from './list-table.js';
import type { Names } from './names.js';
import { valueHtml } from './values.js';

/** The kinds of fields with few values. */
const FEW_VALUES: readonly (ColumnKind | undefined)[] = ['choice', 'flag', 'reference'];

/** The fields by which a list is grouped, without periods of times. */
const fieldKeys = (resource: Resource) => groupKeys(resource).filter(({ period }) => period === undefined);

/** Links to the numbers of records by the fields with few values: those with a list of values, references, and yes or no. */
export function groupsNav(view: ListView): Part {
  const { resource } = view;
  const few = fieldKeys(resource).filter(({ field }) => FEW_VALUES.includes(columnOf(resource, field)?.kind));
  const sort = listParameters(resource).includes('sort') && { sort: '-count' };
  const links = few.map(({ name }) => {
    const href = view.hrefWith({ group: escapeName(name), ...sort }, view.selection);
    return html`<a href="${href}">${labelOf(resource, name)}</a>`;
  });
  return links.length > 0 && html`<h2>Count by</h2>\n<p class="links">${links}</p>`;
}

/** The groups of a list. The value of a field leads to the records that have it. */
export async function groupsPage(view: ListView, data: readonly JsonObject[], known: Names) {
  const { resource, parameters } = view;
  const names = (parameters.get('group') ?? '').split(',');
  const keys = fieldKeys(resource).filter(({ name }) => names.includes(escapeName(name)));
  await known.readFor(resource, data);
  const members = Object.keys(data[0] ?? {}).filter((name) => !name.startsWith('_'));
  const by = names.map((name) => labelOf(resource, name)).join(' and ');
  const heads = members.map((name): Head => ({ label: labelOf(resource, name) }));
  const max = Math.max(1, ...data.map(({ count }) => Number(count ?? 0)));
  const cell = (group: JsonObject, name: string): Part => {
    const value = member(group, name);
    const text = known.of(String(value)) ?? valueHtml(value);
    if (!keys.some((key) => key.name === name)) return text;
    const condition = value === null ? conditionName(name, 'null') : conditionName(name);
    const href = view.hrefWith({ [condition]: String(value ?? true) }, view.selection);
    return html`<a href="${href}">${text || 'none'}</a>`;
  };
  const rows = data.map((group) => {
    // A number of records as a part of the largest one: the table has the number beside it.
    const part = Math.max(1, Math.round((100 * Number(group.count ?? 0)) / max));
    const bar = html`<svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect width="${part}" height="8"></rect></svg>`;
    return [...members.map((name) => cell(group, name)), bar];
  });
  return {
    title: `By ${by.toLowerCase()}`,
    body: html`<div class="chips">${await filterChips(view, known)}<span class="dim">${data.length} ${data.length === 1 ? 'group' : 'groups'}</span> <a href="${view.hrefWith({}, view.selection)}">The records</a></div>
${data.length === 0 ? html`<p>There are no groups.</p>` : tableOf([...heads, { label: 'Share', style: 'bar' }], rows)}`,
  };
}
