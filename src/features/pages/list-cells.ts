import { type Json, type JsonObject, member, setMember } from '../../json.js';

/** Fields of a record in a list that is too large for memory. */
const MAX_SUMMARY = 100;
/** Characters of its texts: more than a name that a form looks up has, so that none of these is cut. */
const MAX_SUMMARY_CHARACTERS = 300;
/** Characters of a label, a text and a nested value. */
export const MAX_CELL_CHARACTERS = 200;
const MAX_TEXT_CHARACTERS = 120;
const MAX_NESTED_CHARACTERS = 80;
/** Members of a nested value that are read. */
const MAX_NESTED_MEMBERS = 20;

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

const TIME = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)\.\d+Z$/;

/** The text of a cell, without the indentation and the quotation marks of JSON, and without fractions of seconds. */
export function cellOf(value: Json | undefined): string {
  if (typeof value === 'string') return cutCell(value.replace(TIME, '$1 $2Z'), MAX_TEXT_CHARACTERS);
  if (typeof value !== 'object' || value === null) return String(value ?? '');
  const entries = Array.isArray(value) ? value : Object.keys(value);
  const texts = entries
    .slice(0, MAX_NESTED_MEMBERS)
    .map((entry) =>
      Array.isArray(value) ? inner(entry) : `${entry}: ${inner(member(value, entry as string))}`,
    );
  const more = entries.length > texts.length ? ', …' : '';
  return cutCell(`${texts.join(', ')}${more}`, MAX_NESTED_CHARACTERS);
}

/** A value within a nested value. */
function inner(value: Json | undefined): string {
  if (Array.isArray(value)) return value.length === 0 ? '[]' : '[…]';
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0 ? '{}' : '{…}';
  return cutCell(String(value), MAX_NESTED_CHARACTERS);
}

function cutCell(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max).toWellFormed()}…`;
}
