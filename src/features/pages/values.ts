import type { Resource } from '../../collection/resource.js';
import { cut, type Html, html, type Part } from '../../formats/html.js';
import { charactersLeft, type Json, type JsonObject, member } from '../../json.js';
import { type Column, isOverdue } from './columns.js';
import { dayText, MAX_ITEMS } from './labels.js';
import { cellOf } from './list-cells.js';
import type { Names } from './names.js';

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const TONES = 4;

/** Characters of a text that lists show whole, and of one on the page of its record. */
const MAX_SHORT = 100;
export const MAX_LONG = 16_384;

type ShownAs = Pick<Column, 'kind' | 'choices' | 'to'>;
const PLAIN: ShownAs = { kind: 'plain', choices: [], to: undefined };
/** The kinds of values that may be JSON. */
const JSON_KINDS = ['plain', 'json'];

/** A value as people read it, also one that no declaration describes; undefined: there is none. */
export function valueHtml(value: Json | undefined, column: ShownAs = PLAIN, names?: Names): Part {
  if (value === undefined || value === null || value === '') return undefined;
  if (!Array.isArray(value)) return oneValue(column, value, names);
  if (value.length === 0) return undefined;
  const shown = value.slice(0, MAX_ITEMS).map((each) => itemHtml(column, each, names));
  return value.length > shown.length ? [...shown, ` and ${value.length - shown.length} more`] : shown;
}

/** A field of a record in a list, or by `factHtml` on its page. */
export function fieldHtml(
  resource: Resource,
  record: JsonObject,
  column: Column,
  names: Names,
  showing = valueHtml,
): Part {
  const shown = showing(member(record, column.name), column, names);
  return isOverdue(resource, record, column) ? html`<span class="late">${shown} overdue</span>` : shown;
}

/** A value on a page of its own: a long text as a whole, and an object, or a list of long or nested values, as JSON. */
export function factHtml(value: Json | undefined, column: ShownAs = PLAIN, names?: Names): Part {
  if (typeof value === 'string' && value.length > MAX_SHORT) return cut(value, MAX_LONG);
  const isLarge = (each: Json) => typeof each === 'object' || String(each).length > MAX_SHORT;
  const isSmall = Array.isArray(value) && value.length <= MAX_ITEMS && !value.some(isLarge);
  const isJson = typeof value === 'object' && value !== null && JSON_KINDS.includes(column.kind) && !isSmall;
  return isJson ? html`<pre>${cut(jsonText(value), MAX_LONG)}</pre>` : valueHtml(value, column, names);
}

/** Characters of JSON up to which it is indented. */
const MAX_INDENTED = 65_536;

/** JSON for people. */
export const jsonText = (value: Json): string =>
  JSON.stringify(value, null, charactersLeft(value, MAX_INDENTED) < 0 ? 0 : 2);

function itemHtml(column: ShownAs, value: Json, names?: Names): Part {
  const isTag = (column.kind === 'text' || column.kind === 'plain') && typeof value !== 'object';
  return isTag ? html`<span class="tag">${cellOf(value)}</span>` : [oneValue(column, value, names), ' '];
}

function oneValue({ kind, choices, to }: ShownAs, value: Json, names?: Names): Part {
  if (typeof value === 'object' || value === null) return cellOf(value);
  if (typeof value === 'boolean') return value ? 'Yes' : 'No';
  switch (kind) {
    case 'choice':
      return html`<span class="tag s${(choices.indexOf(value) % TONES) + 1}">${cellOf(value)}</span>`;
    case 'reference':
      return referenceHtml(names!, to!, String(value));
    case 'plain':
    case 'date':
    case 'time':
      return timeHtml(String(value));
    case 'id':
      return html`<code>${cellOf(value)}</code>`;
    default:
      return cellOf(value);
  }
}

/** A link to a record by its name, or by the beginning of its id. */
function referenceHtml(names: Names, collection: string, id: string): Html {
  const text = names.of(id) ?? (id.length > 20 ? `${id.slice(0, 13)}…` : id);
  return html`<a href="${names.site.prefix}/${collection}/${id}">${text}</a>`;
}

const TIME = /^\d{4}-\d\d-\d\d(?:T(\d\d:\d\d)(?::\d\d(?:\.\d+)?)?Z)?$/;

/** A date or a time in UTC, short, with the exact value for programs and the script of the page. Anything else stays text. */
export function timeHtml(value: string): Part {
  const found = TIME.exec(value);
  if (!found) return cellOf(value);
  const [, time] = found;
  const weekday = DAYS[new Date(`${value.slice(0, 10)}T00:00:00Z`).getUTCDay()] ?? '';
  const date = dayText(value);
  const text = time === undefined ? `${weekday}, ${date}` : `${date}, ${time} UTC`;
  return html`<time datetime="${value}"${time !== undefined && html` title="${value}"`}>${text}</time>`;
}
