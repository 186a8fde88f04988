import { type Html, html, type Part } from '../../formats/html.js';
import type { JsonObject } from '../../json.js';
import { conditionName, escapeName } from '../../list/query-names.js';
import { groupKeys } from '../../list/read-groups.js';
import { listParameters } from '../../list/read-list.js';
import { columnsOf } from './columns.js';
import { filterChips } from './filter-page.js';
import { fieldLabel } from './labels.js';
import type { Crumb, PageContent } from './layout.js';
import { cellOf } from './list-cells.js';
import type { ListView } from './list-query.js';
import { listTable } from './list-table.js';
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
  await known.readFor(resource, data);
  const columns = columnsOf(resource);
  const references = columns.filter(({ kind }) => kind === 'reference').map(({ name }) => name);
  const rows = data.map((group) =>
    Object.fromEntries(
      Object.entries(group).map(([name, value]) => [
        name,
        references.includes(name) && typeof value === 'string' ? (known.of(value) ?? value) : value,
      ]),
    ),
  );
  const labels = names.map((name) => columns.find((each) => each.name === name)?.label ?? fieldLabel(name));
  return {
    title: `By ${labels.join(' and ').toLowerCase()}`,
    crumbs,
    body: html`<div class="chips">${filterChips(view, known)}<span class="dim">${data.length} ${data.length === 1 ? 'group' : 'groups'}</span> ${link(all)}</div>
${barChart(rows, names)}
${listTable(rows, (row, name) => hrefOf(data[rows.indexOf(row)]!, name))}`,
  };
}

/** Groups that a picture shows, and its measures in units of its own. */
const MAX_BARS = 40;
const [BAR, LABEL, WIDTH] = [22, 150, 560];

/** The numbers of records of each group as bars; the table beside them has the same numbers. */
function barChart(groups: readonly JsonObject[], names: readonly string[]): Part {
  const counts = groups.slice(0, MAX_BARS).map((group) => Number(group.count ?? 0));
  const max = Math.max(0, ...counts);
  if (max === 0) return undefined;
  const bars = counts.map((count, at) => {
    const y = at * BAR;
    const text = names.map((name) => cellOf(groups[at]![name]) || 'none').join(', ');
    const shown = text.length > 20 ? `${text.slice(0, 19).toWellFormed()}…` : text;
    const width = Math.round((count / max) * (WIDTH - LABEL - 60));
    return html`<text x="${LABEL - 8}" y="${y + 15}" text-anchor="end">${shown}</text><rect x="${LABEL}" y="${y + 3}" width="${Math.max(1, width)}" height="${BAR - 6}"></rect><text x="${LABEL + width + 6}" y="${y + 15}">${count.toLocaleString('en')}</text>`;
  });
  return html`<svg class="bars" viewBox="0 0 ${WIDTH} ${counts.length * BAR}" aria-hidden="true">${bars}</svg>`;
}

const link = (href: string): Html => html`<a href="${href}">The records</a>`;
