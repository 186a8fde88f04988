import { isObject, type Json, type JsonObject, member, setMember } from '../../json.js';
import { MAX_INCLUDES } from '../../list/read-fields-and-includes.js';

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
/** Excerpts of a record, and characters of each. */
const MAX_EXCERPTS = 8;
const MAX_EXCERPT_CHARACTERS = 2000;

/** The cells of a record in a list: the first fields, each cut to a cell, the excerpts, and what the links to related records need. */
export function summaryOf(record: JsonObject): JsonObject {
  const summary: JsonObject = { _excerpts: excerptsOf(record), _included: includedIn(record) };
  for (const name of Object.keys(record).slice(0, MAX_SUMMARY)) {
    const value = member(record, name);
    const isText = typeof value === 'string';
    const cell = isText ? cutCell(value, MAX_SUMMARY_CHARACTERS) : cellOf(value);
    const isShort = typeof value === 'number' || typeof value === 'boolean';
    if (!name.startsWith('_')) setMember(summary, name, isShort ? value : cell);
  }
  return summary;
}

/** The excerpts of a record by its fields, of which a client may have stored what the service did not write. */
export function excerptsOf({ _excerpts: given }: JsonObject): JsonObject {
  const excerpts: JsonObject = {};
  if (!isObject(given)) return excerpts;
  for (const name of Object.keys(given).slice(0, MAX_EXCERPTS)) {
    const text = member(given, name);
    if (typeof text === 'string') setMember(excerpts, name, cutCell(text, MAX_EXCERPT_CHARACTERS));
  }
  return excerpts;
}

/** The related records of a record by the names of relations, each with its id and what its title is made of. */
function includedIn({ _included: given }: JsonObject): JsonObject {
  const included: JsonObject = {};
  if (!isObject(given)) return included;
  const named = (related: Json): Json => {
    if (!isObject(related)) return null;
    const members = ['id', 'name', 'title'].map((name) => [name, cellOf(member(related, name))] as const);
    return Object.fromEntries(members.filter(([name]) => Object.hasOwn(related, name)));
  };
  for (const name of Object.keys(given).slice(0, MAX_INCLUDES)) {
    const value = member(given, name)!;
    const shown = Array.isArray(value) ? value.slice(0, MAX_NESTED_MEMBERS).map(named) : named(value);
    setMember(included, name, typeof value === 'number' ? value : shown);
  }
  return included;
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
