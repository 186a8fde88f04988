import { cut, type Html, html, type Part } from '../../formats/html.js';
import { type Json, type JsonObject, member } from '../../json.js';
import type { AddedColumn } from './added-columns.js';
import { cellOf, columnsOf, layoutOf, MAX_CELL_CHARACTERS } from './list-cells.js';

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

/** How a list is sorted by a column: the address that sorts by it, and the direction if it is in effect. */
export interface Sort {
  readonly field: string;
  readonly href: string;
  readonly order?: 'asc' | 'desc' | undefined;
}

/** The first fields of some records, each with links to its own page and to what it refers to, and the added columns. */
export function listTable(
  records: readonly JsonObject[],
  hrefOf: HrefOf,
  sorts: readonly Sort[] = [],
  added: readonly AddedColumn[] = [],
): Html {
  if (records.length === 0) return html`<p>No records.</p>`;
  const names = [...new Set([...columnsOf(records), ...added.map(({ name }) => name)])];
  const labels = names.map((name) => cut(name, MAX_CELL_CHARACTERS));
  const head = names.map((name, index) => {
    const sort = sorts.find(({ field }) => field === name);
    const isNumber = records.every((record) => isNumeric(member(record, name)));
    const direction = sort?.order && html` aria-sort="${sort.order}ending"`;
    const label = labels[index]!;
    return html`<th scope="col"${isNumber && html` class="number"`}${direction}>${sort ? sortLink(sort, label) : label}</th>`;
  });
  const rows = records.map((record) => {
    const cells = names.map((name, index) => {
      const value = member(record, name);
      const cell = added.find((each) => each.name === name)?.cell(record);
      const content = cell ?? linked(cellOf(value), hrefOf(record, name));
      return html`<td class="${layoutOf(value)}" data-label="${labels[index]}">${content}</td>`;
    });
    return html`<tr>${cells}</tr>\n`;
  });
  return html`<div class="scroll"><table class="list"><thead><tr>${head}</tr></thead><tbody>${rows}</tbody></table></div>`;
}

/** A link that sorts by a field. The one in effect reverses the direction. */
export function sortLink({ href, order }: Sort, label: string): Html {
  const arrow = order === undefined ? '' : order === 'asc' ? ' ↑' : ' ↓';
  return html`<a href="${href}"${order && html` aria-current="true"`}>${label}${arrow}</a>`;
}

const isNumeric = (value: Json | undefined) =>
  value === undefined || value === null || typeof value === 'number';

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
