import { hrefOf } from '../../collection/representation.js';
import type { Resource } from '../../collection/resource.js';
import { cut, type Html, html, type Part } from '../../formats/html.js';
import { type Json, type JsonObject, member } from '../../json.js';
import { isRelevance } from '../../list/read-sort.js';
import type { AddedColumn } from './added-columns.js';
import type { Column } from './columns.js';
import { collectionLabel, fieldLabel } from './labels.js';
import { cellOf, columnsOf, layoutOf, MAX_CELL_CHARACTERS } from './list-cells.js';
import type { ListView, Sort } from './list-query.js';
import type { Names } from './names.js';
import { valueHtml } from './values.js';

/** Fields of a record that its page shows, and characters of each value. */
const MAX_FIELDS = 1000;
const MAX_CHARACTERS = 16_384;
/** Characters of JSON up to which a value is indented. */
const MAX_INDENTED = 4096;

/** The address of what a field refers to; undefined: it refers to nothing. */
export type HrefOf = (record: JsonObject, field: string) => string | undefined;

/** All fields of one record, with links to what it refers to. Long values are cut. */
export function recordTable(record: JsonObject, hrefOf: HrefOf = () => undefined): Html {
  const names = Object.keys(record);
  let left = 4 * MAX_CHARACTERS;
  const rows = names.slice(0, MAX_FIELDS).map((name) => {
    const value = textOf(member(record, name));
    const shown = cut(value.text, Math.min(MAX_CHARACTERS, left));
    const heading = cut(name, MAX_CELL_CHARACTERS);
    left -= Math.min(left, shown.length + heading.length);
    const content =
      value.isJson && shown !== '' ? html`<pre>${shown}</pre>` : linked(shown, hrefOf(record, name));
    return html`<tr><th scope="row">${heading}</th><td>${content}</td></tr>\n`;
  });
  const rest = names.length - rows.length;
  return html`<table class="record">${rows}</table>${
    rest > 0 && html`<p>${rest} more fields. The JSON representation has all of them.</p>`
  }`;
}

/** A table of things that are no records of a collection: the first fields of each row, with links to other pages. */
export function listTable(rows: readonly JsonObject[], hrefOf: HrefOf): Html {
  if (rows.length === 0) return html`<p>There are none yet.</p>`;
  const names = columnsOf(rows);
  const labels = names.map((name) => fieldLabel(cut(name, MAX_CELL_CHARACTERS)));
  const head = names.map((name, index) => {
    const isNumber = rows.every((row) => typeof member(row, name) === 'number');
    return html`<th scope="col"${isNumber && html` class="number"`}>${labels[index]}</th>`;
  });
  const body = rows.map((row) => {
    const cells = names.map((name, index) => {
      const content = linked(cellOf(member(row, name)), hrefOf(row, name));
      return html`<td class="${layoutOf(member(row, name))}" data-label="${labels[index]}">${content}</td>`;
    });
    return html`<tr>${cells}</tr>\n`;
  });
  return html`<div class="scroll"><table class="list"><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table></div>`;
}

/** How the records of a list are shown. */
export interface RecordsView {
  readonly view: ListView;
  readonly names: Names;
  readonly columns: readonly Column[];
  readonly added: readonly AddedColumn[];
  /** The form around the table that changes chosen records; undefined: none can be chosen. */
  readonly bulk: ((table: Html) => Html) | undefined;
}

/** The records of a list: the name of each with a link to its page, and the columns of the list. */
export function recordsTable(resource: Resource, records: readonly JsonObject[], shown: RecordsView): Html {
  const { view, names, added, bulk } = shown;
  const replaced = (name: string) => added.find((each) => each.name === name);
  const columns = shown.columns.filter(({ name }) => !replaced(name));
  const sorts = view.sorts();
  const sortOf = (name: string) => sorts.find(({ field }) => field === name);
  const relevance = sorts.find(({ field }) => isRelevance(resource, field));
  const first = resource.display ?? 'id';
  const title = fieldLabel(
    first,
    (resource.schema.properties[first] as { title?: string } | undefined)?.title,
  );
  const head = [
    bulk &&
      html`<td class="pick"><input id="all" type="checkbox" aria-label="Choose all on this page" hidden></td>`,
    headCell(title, sortOf(first)),
    ...columns.map(({ name, label, kind }) => headCell(label, sortOf(name), kind === 'number')),
    ...added.map(({ name }) => headCell(fieldLabel(cut(name, MAX_CELL_CHARACTERS)))),
  ];
  const badge = columns.find(({ kind }) => kind === 'choice')?.name;
  const rows = records.map((record) => {
    const id = String(record.id);
    const text = cut(cellOf(names.titleOf(resource, record)), MAX_CELL_CHARACTERS);
    const cells = columns.map(({ name, label, kind }, at) => {
      const style = name === badge ? 'badge' : kind === 'number' ? 'number' : '';
      return html`<td${style !== '' && html` class="${style}"`} data-label="${cut(label, MAX_CELL_CHARACTERS)}">${valueHtml(columns[at]!, member(record, name), names)}</td>`;
    });
    const more = added.map(
      ({ name, cell }) =>
        html`<td data-label="${fieldLabel(cut(name, MAX_CELL_CHARACTERS))}">${cell(record)}</td>`,
    );
    return html`<tr>${bulk && html`<td class="pick"><input type="checkbox" name="_id" value="${id}" aria-label="Choose ${text}"></td>`}<th scope="row"><a href="${hrefOf(resource, id)}">${text}</a></th>${cells}${more}</tr>\n`;
  });
  const table = html`<div class="scroll" tabindex="0" role="region" aria-label="${collectionLabel(resource.name)}"><table class="list"><thead><tr>${head}</tr></thead><tbody>${rows}</tbody></table></div>`;
  const order = relevance && html`<p>Sort by ${sortLink(relevance, 'relevance')}</p>`;
  return html`${order}${bulk ? bulk(table) : table}`;
}

function headCell(label: string, sort?: Sort, isNumber = false): Html {
  const direction = sort?.order && html` aria-sort="${sort.order}ending"`;
  const text = cut(label, MAX_CELL_CHARACTERS);
  return html`<th scope="col"${isNumber && html` class="number"`}${direction}>${sort ? sortLink(sort, text) : text}</th>`;
}

/** A link that sorts by a field. The one in effect reverses the direction. */
function sortLink({ href, order }: Sort, label: string): Html {
  const arrow = order === undefined ? '' : order === 'asc' ? ' ↑' : ' ↓';
  return html`<a href="${href()}"${order && html` aria-current="true"`}>${label}${arrow}</a>`;
}

/** A text, as a link if there is an address. */
function linked(text: string, href: string | undefined): Part {
  return href === undefined || text === '' ? text : html`<a href="${href}">${text}</a>`;
}

/** A value as text; JSON is indented as long as it is short. */
function textOf(value: Json | undefined): { text: string; isJson: boolean } {
  if (value === undefined || value === null) return { text: '', isJson: false };
  if (typeof value !== 'object') return { text: String(value), isJson: false };
  const text = JSON.stringify(value);
  return { text: text.length <= MAX_INDENTED ? JSON.stringify(value, null, 2) : text, isJson: true };
}
