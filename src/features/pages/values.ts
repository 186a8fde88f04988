import { hrefOf } from '../../collection/representation.js';
import type { Resource } from '../../collection/resource.js';
import { cut, type Html, html, type Part } from '../../formats/html.js';
import { charactersLeft, type Json, type JsonObject, member } from '../../json.js';
import { type Column, columnsOf, undeclared } from './columns.js';
import { cellOf, dayText, MAX_ITEMS } from './labels.js';
import type { Names } from './names.js';
import { collectionOf } from './site.js';

const TONES = 4;

/** Characters of a text that lists show whole, and of one on the page of its record. */
const MAX_SHORT = 100;
export const MAX_LONG = 16_384;

/** A value as people read it, also one that no declaration describes; undefined: there is none. */
export function valueHtml(value: Json | undefined, column = undeclared(''), names?: Names): Part {
  if (value === undefined || value === null || value === '') return undefined;
  if (!Array.isArray(value)) return oneValue(column, value, names);
  const isTag = column.kind === 'text' || column.kind === 'json';
  const shown = value.slice(0, MAX_ITEMS).map((each): Part => {
    if (isTag && typeof each !== 'object') return html`<span class="tag">${cellOf(each)}</span>`;
    return [oneValue(column, each, names), ' '];
  });
  const rest = value.length - shown.length;
  return shown.length > 0 && [...shown, rest > 0 && ` and ${rest} more`];
}

/** A value with all that is long, and JSON, for the page of what has it. */
export function wholeHtml(value: Json | undefined, column = undeclared(''), names?: Names): Part {
  const values = [value ?? []].flat() as readonly Json[];
  const isLarge = (each: Json) =>
    typeof each === 'object' ? each !== null : String(each).length > MAX_SHORT;
  if (!values.some(isLarge) && (column.kind !== 'json' || values.length <= MAX_ITEMS))
    return valueHtml(value, column, names);
  return typeof value === 'string'
    ? cut(value, MAX_LONG)
    : html`<pre>${cut(jsonText(value!), MAX_LONG)}</pre>`;
}

/**
 * A field of a record as it is shown, with a word where the record has missed a day on which it is due: its first choice is not the
 * last one, such as closed.
 */
export function fieldHtml(resource: Resource, record: JsonObject, column: Column, shown: Part): Part {
  const { name, kind, label } = column;
  const day = member(record, name);
  if (kind !== 'date' || !/\b(due|deadline)\b/i.test(label) || typeof day !== 'string') return shown;
  const state = columnsOf(resource).find((each) => each.kind === 'choice' && !each.isList);
  const isDone = state !== undefined && member(record, state.name) === state.choices.at(-1);
  const isLate = !isDone && day < new Date().toISOString().slice(0, 10);
  return isLate ? html`<span class="late">${shown} overdue</span>` : shown;
}

/** Characters of JSON up to which it is indented. */
const MAX_INDENTED = 65_536;

/** JSON for people. */
export const jsonText = (value: Json): string =>
  JSON.stringify(value, null, charactersLeft(value, MAX_INDENTED) < 0 ? 0 : 2);

function oneValue({ kind, choices, to }: Column, value: Json, names?: Names): Part {
  if (typeof value === 'boolean') return value ? 'Yes' : 'No';
  if (typeof value === 'number' && kind !== 'choice') return value;
  if (typeof value === 'object') return cellOf(value);
  if (kind === 'choice')
    return html`<span class="tag s${(choices.indexOf(value) % TONES) + 1}">${cellOf(value)}</span>`;
  if (kind === 'reference') return linkTo(names!, to!, String(value));
  return kind === 'json' || kind === 'date' || kind === 'time' ? timeHtml(String(value)) : cellOf(value);
}

/** A link to a record of a collection by its name, or by the end of its id. */
export function linkTo(names: Names, collection: string, id: string): Html {
  const { resource } = collectionOf(names.site, collection)!;
  return html`<a href="${hrefOf(resource, id)}">${names.of(id) ?? names.titleOf(resource, { id })}</a>`;
}

const TIME = /^\d{4}-\d\d-\d\d(?:T(\d\d:\d\d)(?::\d\d(?:\.\d+)?)?Z)?$/;

/** A date or a time in UTC, short, with the exact value for programs and the script of the page. Anything else stays text. */
export function timeHtml(value: string): Part {
  const found = TIME.exec(value);
  if (!found) return cellOf(value);
  const [, time] = found;
  const text = time === undefined ? dayText(value) : `${dayText(value)}, ${time} UTC`;
  return html`<time datetime="${value}"${time && html` title="${value}"`}>${text}</time>`;
}
