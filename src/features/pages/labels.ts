import { beginningOf } from '../../formats/html.js';
import { type Json, type JsonObject, member, setMember } from '../../json.js';

/** The first letter as a capital. */
export const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** A name of code as words: `dueOn` and `due_on` are "due on". */
export const wordsOf = (name: string): string =>
  name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .replace(/[_-]+/g, ' ')
    .trim()
    .toLowerCase() || name;

/** The label of a collection. */
export const collectionLabel = (name: string): string => capitalized(wordsOf(name));

/** The label of a field: its title, or its name as words, without the "id" of a reference. */
export function fieldLabel(name: string, title?: string, isReference = false): string {
  const words = wordsOf(name);
  const short = (isReference && words.replace(/ id$/, '').replace(/ ids$/, 's')) || words;
  return cellOf(title ?? capitalized(short));
}

/** Values of an array that a page shows. */
export const MAX_ITEMS = 20;
/** Characters of a name that pages repeat, and up to which a name is entered in a form. */
export const MAX_NAME_CHARACTERS = 200;

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** The day that begins a text, as people read it: `4 Jul 1996`. A text of another form stays as it is. */
export function dayText(text: string): string {
  const [, year, month, day] = /^(\d{4})-(0[1-9]|1[0-2])-(\d\d)/.exec(text) ?? [];
  return year === undefined ? text : `${Number(day)} ${MONTHS[Number(month) - 1]} ${year}`;
}

/** Fields of a record in a list that is too large for memory. */
const MAX_SUMMARY = 100;
/** Characters of its texts: more than a name that a form looks up has, so that none of these is cut. */
const MAX_SUMMARY_CHARACTERS = 300;
/** Characters of a cell. */
const MAX_CELL_CHARACTERS = 120;

/** The cells of a record in a list: the first fields, each cut to a cell. */
export function summaryOf(record: JsonObject): JsonObject {
  const summary: JsonObject = {};
  for (const name of Object.keys(record).slice(0, MAX_SUMMARY)) {
    const value = member(record, name)!;
    const isShort = typeof value === 'number' || typeof value === 'boolean';
    setMember(summary, name, isShort ? value : cellOf(value, MAX_SUMMARY_CHARACTERS));
  }
  return summary;
}

/** The text of a cell, without the quotation marks of JSON, up to so many characters. */
export function cellOf(value: Json | undefined, max = MAX_CELL_CHARACTERS): string {
  const isNested = typeof value === 'object' && value !== null;
  const text = isNested ? JSON.stringify(value).replaceAll('"', '') : String(value ?? '');
  return text.length <= max ? text : `${beginningOf(text, max)}…`;
}
