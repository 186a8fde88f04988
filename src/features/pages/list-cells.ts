import { beginningOf } from '../../formats/html.js';
import { type Json, type JsonObject, member, setMember } from '../../json.js';

/** Fields of a record in a list that is too large for memory. */
const MAX_SUMMARY = 100;
/** Characters of its texts: more than a name that a form looks up has, so that none of these is cut. */
const MAX_SUMMARY_CHARACTERS = 300;
/** Characters of a label, a text and a nested value. */
export const MAX_CELL_CHARACTERS = 200;
const MAX_TEXT_CHARACTERS = 120;
const MAX_NESTED_CHARACTERS = 80;

/** The cells of a record in a list: the first fields, each cut to a cell. */
export function summaryOf(record: JsonObject): JsonObject {
  const summary: JsonObject = {};
  for (const name of Object.keys(record).slice(0, MAX_SUMMARY)) {
    const value = member(record, name);
    const isText = typeof value === 'string';
    const cell = isText ? cutCell(value, MAX_SUMMARY_CHARACTERS) : cellOf(value);
    const isShort = typeof value === 'number' || typeof value === 'boolean';
    if (!name.startsWith('_')) setMember(summary, name, isShort ? value : cell);
  }
  return summary;
}

/** The text of a cell, without the quotation marks of JSON. */
export function cellOf(value: Json | undefined): string {
  if (typeof value === 'string') return cutCell(value, MAX_TEXT_CHARACTERS);
  if (typeof value !== 'object' || value === null) return String(value ?? '');
  const text = JSON.stringify(value).slice(0, 2 * MAX_NESTED_CHARACTERS);
  return cutCell(text.replaceAll('"', ''), MAX_NESTED_CHARACTERS);
}

function cutCell(text: string, max: number): string {
  return text.length <= max ? text : `${beginningOf(text, max)}…`;
}
