import { hrefOf } from '../../collection/representation.js';
import type { Resource } from '../../collection/resource.js';
import { cut, type Html, html, type Part } from '../../formats/html.js';
import { isObject, type Json, type JsonObject } from '../../json.js';
import { isRelevance } from '../../list/read-sort.js';
import { type Column, titleLabel } from './columns.js';
import { optionsOf } from './form-html.js';
import { collectionLabel, fieldLabel } from './labels.js';
import { cellOf, MAX_CELL_CHARACTERS } from './list-cells.js';
import type { ListView, Sort } from './list-query.js';
import type { Names } from './names.js';
import { factHtml, fieldHtml } from './values.js';

/** A column of a table. The first one besides boxes names the row. */
export interface Head {
  readonly label: string;
  /** `pick`: boxes to choose rows. `bar`: pictures, which need no label on narrow screens. */
  readonly style?: 'number' | 'badge' | 'pick' | 'bar' | undefined;
  readonly sort?: Sort | undefined;
}

const [END, END_OF_NAME] = [html`</td>`, html`</th>`];

/** A table that becomes cards on narrow screens. */
export function tableOf(heads: readonly Head[], rows: readonly (readonly Part[])[], name = 'Table'): Html {
  const first = heads.findIndex(({ style }) => style !== 'pick');
  const starts = heads.map(({ label, style }, at) => {
    const hasLabel = style !== 'pick' && style !== 'bar';
    return at === first
      ? html`<th scope="row">`
      : html`<td${style && html` class="${style}"`}${hasLabel && html` data-label="${cut(label, MAX_CELL_CHARACTERS)}"`}>`;
  });
  const body = rows.map(
    (cells) =>
      html`<tr>${cells.map((cell, at) => [starts[at], cell, at === first ? END_OF_NAME : END])}</tr>\n`,
  );
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${name}"><table class="list"><thead><tr>${heads.map(headCell)}</tr></thead><tbody>${body}</tbody></table></div>`;
}

function headCell({ label, style, sort }: Head): Html {
  if (style === 'pick')
    return html`<td class="pick"><input id="all" type="checkbox" aria-label="${label}" hidden></td>`;
  const direction = sort?.order && html` aria-sort="${sort.order}ending"`;
  const text = cut(label, MAX_CELL_CHARACTERS);
  return html`<th scope="col"${style === 'number' && html` class="number"`}${direction}>${sort ? sortLink(sort, text) : text}</th>`;
}

/** A link that sorts by a field. The one in effect reverses the direction. */
function sortLink({ href, order }: Sort, label: string): Html {
  const arrow = order === undefined ? '' : order === 'asc' ? ' ↑' : ' ↓';
  return html`<a href="${href()}"${order && html` aria-current="true"`}>${label}${arrow}</a>`;
}

/** The names of some records, each with a link to its page. */
export const linksTo = (resource: Resource, records: readonly JsonObject[], names: Names): Html =>
  html`<ul>${records.map((each) => html`<li><a href="${hrefOf(resource, String(each.id))}">${names.shortTitleOf(resource, each)}</a></li>`)}</ul>`;

/** Labels, each with its content. */
export const pairs = (entries: readonly (readonly [label: string, content: Part])[]): Html =>
  html`<dl>${entries.map(([label, content]) => html`<dt>${cut(label, MAX_CELL_CHARACTERS)}</dt><dd>${content || html`<span class="dim">–</span>`}</dd>\n`)}</dl>`;

/** The members of something that is no record as pairs, those of its objects beside the others; `shownAs`: in another way. */
export const facts = (json: JsonObject, shownAs: Readonly<Record<string, Part>> = {}): Html =>
  pairs(factsIn(json, shownAs));

function factsIn(json: JsonObject, shownAs: Readonly<Record<string, Part>>, within?: string) {
  return Object.entries(json).flatMap(([name, value]: [string, Json]): (readonly [string, Part])[] => {
    const label = within === undefined ? fieldLabel(name) : `${within}: ${fieldLabel(name).toLowerCase()}`;
    if (name.startsWith('_')) return [];
    return isObject(value) ? factsIn(value, {}, label) : [[label, shownAs[name] ?? factHtml(value)]];
  });
}

/** A form that shows the entries of a list with one value. */
export function choiceForm(path: string, name: string, values: readonly string[], given: string): Html {
  return html`<form action="${path}"><p class="tools"><label for="${name}">${fieldLabel(name)}</label>
<select id="${name}" name="${name}">${optionsOf(
    values.map((each) => [each, each || 'all'] as const),
    given,
  )}</select> <button>Show</button></p></form>`;
}

/** How the records of a list are shown. */
export interface RecordsView {
  readonly view: ListView;
  readonly names: Names;
  readonly columns: readonly Column[];
  /** The form around the table that changes chosen records; undefined: none can be chosen. */
  readonly bulk: ((table: Html) => Html) | undefined;
}

/** The records of a list: the name of each with a link to its page, and the columns of the list. */
export function recordsTable(resource: Resource, records: readonly JsonObject[], shown: RecordsView): Html {
  const { view, names, columns, bulk } = shown;
  const sorts = view.sorts();
  const sortOf = (name: string) => sorts.find(({ field }) => field === name);
  const relevance = sorts.find(({ field }) => isRelevance(resource, field));
  const badge = columns.find(({ kind }) => kind === 'choice');
  const heads: Head[] = [
    ...(bulk ? [{ label: 'Choose all on this page', style: 'pick' } as const] : []),
    { label: titleLabel(resource), sort: sortOf(resource.display ?? 'id') },
    ...columns.map((column): Head => {
      const { name, label, kind } = column;
      const style = column === badge ? 'badge' : kind === 'number' ? 'number' : undefined;
      return { label, style, sort: sortOf(name) };
    }),
  ];
  const rows = records.map((record): Part[] => {
    const id = String(record.id);
    const text = cut(cellOf(names.titleOf(resource, record)), MAX_CELL_CHARACTERS);
    const box = html`<input type="checkbox" name="_id" value="${id}" aria-label="Choose ${text}">`;
    return [
      ...(bulk ? [box] : []),
      html`<a href="${hrefOf(resource, id)}">${text}</a>`,
      ...columns.map((column) => fieldHtml(resource, record, column, names)),
    ];
  });
  const table = tableOf(heads, rows, collectionLabel(resource.name));
  const order = relevance && html`<p>Sort by ${sortLink(relevance, 'relevance')}</p>`;
  return html`${order}${bulk ? bulk(table) : table}`;
}
