import { hrefOf } from '../../collection/representation.js';
import type { Resource } from '../../collection/resource.js';
import { cut, type Html, html, type Part } from '../../formats/html.js';
import { isObject, type Json, type JsonObject, member } from '../../json.js';
import { isRelevance } from '../../list/read-sort.js';
import { type Column, titleLabel } from './columns.js';
import { collectionLabel, fieldLabel, MAX_ITEMS } from './labels.js';
import { cellOf, MAX_CELL_CHARACTERS } from './list-cells.js';
import type { ListView, Sort } from './list-query.js';
import type { Names } from './names.js';
import { MAX_SHORT, valueHtml } from './values.js';

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
    const value = member(record, name);
    const shown = cut(textOf(value), Math.min(MAX_CHARACTERS, left));
    const heading = cut(name, MAX_CELL_CHARACTERS);
    left -= Math.min(left, shown.length + heading.length);
    return html`<tr><th scope="row">${heading}</th><td>${linked(fieldHtml(value, shown), hrefOf(record, name))}</td></tr>\n`;
  });
  const rest = names.length - rows.length;
  return html`<table class="record">${rows}</table>${
    rest > 0 && html`<p>${rest} more fields. The JSON representation has all of them.</p>`
  }`;
}

/** A value in the table of a record, with `shown` as its text. */
function fieldHtml(value: Json | undefined, shown: string): Part {
  if (shown === '' || shown === '[]') return html`<span class="dim">–</span>`;
  const isList = Array.isArray(value) && value.length <= MAX_ITEMS && !value.some(isLarge);
  if (isNested(value) && !isList) return html`<pre>${shown}</pre>`;
  return typeof value === 'string' && value.length > MAX_SHORT ? shown : valueHtml(value);
}

const isLarge = (value: Json): boolean => isNested(value) || String(value).length > MAX_SHORT;
const isNested = (value: Json | undefined): boolean => typeof value === 'object' && value !== null;

/** An object with labels in place of names, and the members of its objects beside the others. */
export function labelled(json: JsonObject, within = ''): JsonObject {
  const entries = Object.entries(json).flatMap(([name, value]): [string, Json][] => {
    const label = within === '' ? fieldLabel(name) : `${within}: ${fieldLabel(name).toLowerCase()}`;
    if (name.startsWith('_')) return [];
    return isObject(value) ? (Object.entries(labelled(value, label)) as [string, Json][]) : [[label, value]];
  });
  return Object.fromEntries(entries);
}

/** A table of things that are no records of a collection, all with the fields of the first one, with links to other pages. */
export function listTable(rows: readonly JsonObject[], hrefOf: HrefOf): Html {
  if (rows.length === 0) return html`<p>There are none yet.</p>`;
  const columns = Object.keys(rows[0]!)
    .filter((name) => !name.startsWith('_'))
    .map((name) => {
      const isNumber = rows.every((row) => typeof member(row, name) === 'number');
      return { name, label: fieldLabel(cut(name, MAX_CELL_CHARACTERS)), isNumber };
    });
  const body = rows.map((row) => {
    const [first, ...others] = columns.map(({ name, label, isNumber }) => {
      const content = linked(valueHtml(member(row, name)), hrefOf(row, name));
      return { label, content, style: isNumber && html` class="number"` };
    });
    const cells = others.map(
      ({ label, content, style }) => html`<td${style} data-label="${label}">${content}</td>`,
    );
    return html`<tr><th scope="row">${first!.content}</th>${cells}</tr>\n`;
  });
  return tableOf(
    columns.map(({ label, isNumber }) => headCell(label, undefined, isNumber)),
    body,
  );
}

/** Some members of things that are no records of a collection. The first one leads to the page of its thing, named by `key`. */
export function entriesTable(
  entries: readonly JsonObject[],
  columns: readonly string[],
  path: string,
  key = 'id',
): Html {
  const rows = entries.map((entry) => ({
    ...Object.fromEntries(columns.map((name) => [name, member(entry, name) ?? null])),
    _href: `${path}/${String(entry[key])}`,
  }));
  return listTable(rows, ({ _href }, field) => (field === columns[0] ? String(_href) : undefined));
}

/** A form that shows the entries of a list with one value. */
export function choiceForm(path: string, name: string, values: readonly string[], given: string): Html {
  const options = values.map(
    (each) => html`<option value="${each}"${each === given && html` selected`}>${each || 'all'}</option>`,
  );
  return html`<form action="${path}"><p class="tools"><label for="${name}">${fieldLabel(name)}</label>
<select id="${name}" name="${name}">${options}</select> <button>Show</button></p></form>`;
}

/** A table that becomes cards on narrow screens. */
export const tableOf = (head: readonly Part[], rows: readonly Part[], label = 'Table'): Html =>
  html`<div class="scroll" tabindex="0" role="region" aria-label="${label}"><table class="list"><thead><tr>${head}</tr></thead><tbody>${rows}</tbody></table></div>`;

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
  const first = resource.display ?? 'id';
  const head = [
    bulk &&
      html`<td class="pick"><input id="all" type="checkbox" aria-label="Choose all on this page" hidden></td>`,
    headCell(titleLabel(resource), sortOf(first)),
    ...columns.map(({ name, label, kind }) => headCell(label, sortOf(name), kind === 'number')),
  ];
  const badge = columns.find(({ kind }) => kind === 'choice')?.name;
  const rows = records.map((record) => {
    const id = String(record.id);
    const text = cut(cellOf(names.titleOf(resource, record)), MAX_CELL_CHARACTERS);
    const cells = columns.map((column) => {
      const { name, label, kind } = column;
      const style = name === badge ? 'badge' : kind === 'number' ? 'number' : '';
      return html`<td${style !== '' && html` class="${style}"`} data-label="${cut(label, MAX_CELL_CHARACTERS)}">${valueHtml(member(record, column.name), column, names)}</td>`;
    });
    return html`<tr>${bulk && html`<td class="pick"><input type="checkbox" name="_id" value="${id}" aria-label="Choose ${text}"></td>`}<th scope="row"><a href="${hrefOf(resource, id)}">${text}</a></th>${cells}</tr>\n`;
  });
  const table = tableOf(head, rows, collectionLabel(resource.name));
  const order = relevance && html`<p>Sort by ${sortLink(relevance, 'relevance')}</p>`;
  return html`${order}${bulk ? bulk(table) : table}`;
}

export function headCell(label: string, sort?: Sort, isNumber = false): Html {
  const direction = sort?.order && html` aria-sort="${sort.order}ending"`;
  const text = cut(label, MAX_CELL_CHARACTERS);
  return html`<th scope="col"${isNumber && html` class="number"`}${direction}>${sort ? sortLink(sort, text) : text}</th>`;
}

/** A link that sorts by a field. The one in effect reverses the direction. */
function sortLink({ href, order }: Sort, label: string): Html {
  const arrow = order === undefined ? '' : order === 'asc' ? ' ↑' : ' ↓';
  return html`<a href="${href()}"${order && html` aria-current="true"`}>${label}${arrow}</a>`;
}

/** A value, as a link if there is an address. */
const linked = (value: Part, href: string | undefined): Part =>
  href === undefined || value === undefined ? value : html`<a href="${href}">${value}</a>`;

/** A value as text; JSON is indented as long as it is short. */
function textOf(value: Json | undefined): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'object') return String(value);
  const text = JSON.stringify(value);
  return text.length <= MAX_INDENTED ? JSON.stringify(value, null, 2) : text;
}
