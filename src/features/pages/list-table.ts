import { hrefOf } from '../../collection/representation.js';
import type { Resource } from '../../collection/resource.js';
import { type Html, html, type Part } from '../../formats/html.js';
import { isObject, type Json, type JsonObject, member } from '../../json.js';
import { type Column, columnOf, titleLabel } from './columns.js';
import { cellOf, collectionLabel, fieldLabel } from './labels.js';
import type { ListView, Sort } from './list-query.js';
import type { Names } from './names.js';
import { fieldHtml, valueHtml, wholeHtml } from './values.js';

/** A column of a table. The first one besides boxes names the row. */
export interface Head {
  readonly label: string;
  /** `pick`: boxes to choose rows. `bar`: pictures, which need no label on narrow screens. */
  readonly style?: 'number' | 'badge' | 'pick' | 'bar' | undefined;
  readonly sort?: Sort | undefined;
}

const [END, END_OF_NAME] = [html`</td>`, html`</th>`];

/** A table that becomes cards on narrow screens. A column without other values than numbers is one of numbers. */
export function tableOf(given: readonly Head[], rows: readonly (readonly Part[])[], name = 'Table'): Html {
  const first = given.findIndex(({ style }) => style !== 'pick');
  const isNumber = (at: number) => at > first && rows.every((cells) => typeof (cells[at] ?? 0) === 'number');
  const heads = given.map(
    (head, at): Head => (!head.style && isNumber(at) ? { ...head, style: 'number' } : head),
  );
  const starts = heads.map(({ label, style }, at) => {
    const hasLabel = style !== 'pick' && style !== 'bar';
    return at === first
      ? html`<th scope="row">`
      : html`<td${style && html` class="${style}"`}${hasLabel && html` data-label="${label}"`}>`;
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
  const { order, href } = sort ?? {};
  const text = href
    ? html`<a href="${href()}"${order && html` aria-current="true"`}>${label}${ARROWS[order ?? '']}</a>`
    : label;
  return html`<th scope="col"${style === 'number' && html` class="number"`}${order && html` aria-sort="${order}ending"`}>${text}</th>`;
}

const ARROWS: Readonly<Record<string, string>> = { asc: ' ↑', desc: ' ↓' };

/** The names of some records, each with a link to its page, and the values of some fields. */
export function linksTo(resource: Resource, records: readonly JsonObject[], names: Names, fields?: string[]) {
  const shown = (record: JsonObject, field: string) =>
    html` <span class="dim">${valueHtml(member(record, field), columnOf(resource, field), names)}</span>`;
  return html`<ul>${records.map((each) => html`<li><a href="${hrefOf(resource, String(each.id))}">${names.titleOf(resource, each)}</a>${fields?.map((field) => shown(each, field))}</li>`)}</ul>`;
}

/** Labels, each with its content. */
export const pairs = (entries: readonly (readonly [label: string, content: Part])[]): Html =>
  html`<dl>${entries.map(([label, content]) => html`<dt>${label}</dt><dd>${content || content === 0 ? content : html`<span class="dim">–</span>`}</dd>\n`)}</dl>`;

/** The members of something that is no record as pairs, those of its objects beside the others; `shownAs`: in another way. */
export const facts = (json: JsonObject, shownAs: Readonly<Record<string, Part>> = {}): Html =>
  pairs(
    Object.entries(json as Record<string, Json>).flatMap(([name, value]): [string, Part][] => {
      const label = fieldLabel(name);
      if (name.startsWith('_')) return [];
      if (!isObject(value)) return [[label, shownAs[name] ?? wholeHtml(value)]];
      const members = Object.entries(value as Record<string, Json>);
      return members.map(([inner, each]) => [
        `${label}: ${fieldLabel(inner).toLowerCase()}`,
        wholeHtml(each),
      ]);
    }),
  );

/** The records of a list: the name of each with a link to its page, and some columns; with boxes to choose records. */
export function recordsTable(
  view: ListView,
  records: readonly JsonObject[],
  columns: readonly Column[],
  names: Names,
  hasBoxes: boolean,
): Html {
  const { resource } = view;
  const sorts = view.sorts();
  const sortOf = (name: string) => sorts.find(({ field }) => field === name);
  const badge = columns.find(({ kind }) => kind === 'choice');
  const boxes: Head[] = hasBoxes ? [{ label: 'Choose all on this page', style: 'pick' }] : [];
  const heads = columns.map((column): Head => {
    return { label: column.label, style: column === badge ? 'badge' : undefined, sort: sortOf(column.name) };
  });
  const title = { label: titleLabel(resource), sort: sortOf(resource.display ?? 'id') };
  const rows = records.map((record): Part[] => {
    const id = String(record.id);
    const text = cellOf(names.titleOf(resource, record));
    const box = html`<input type="checkbox" name="_id" value="${id}" aria-label="Choose ${text}">`;
    return [
      ...(hasBoxes ? [box] : []),
      html`<a href="${hrefOf(resource, id)}">${text}</a>`,
      ...columns.map((column) =>
        fieldHtml(resource, record, column, valueHtml(member(record, column.name), column, names)),
      ),
    ];
  });
  return tableOf([...boxes, title, ...heads], rows, collectionLabel(resource.name));
}
