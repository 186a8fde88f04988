import { type JsonObject, member } from '../json.js';

/** A record as CSV: a header line and one line, as `csvRow` describes. */
export function csv(record: JsonObject): string {
  const names = Object.keys(record);
  return csvHeader(names) + csvRow(record, names);
}

export function csvHeader(names: readonly string[]): string {
  return `${names.map((name) => quote(defuse(name))).join(',')}\r\n`;
}

/**
 * The fields of these names as a line of CSV (RFC 4180). A missing field and null are empty. Objects and arrays are JSON
 * in their cell. A text that a spreadsheet would execute as a formula is defused with an apostrophe, as OWASP advises,
 * also within a cell: where the list separator is a semicolon or a tab, quotes behind a comma do not hold a cell
 * together.
 */
export function csvRow(record: JsonObject, names: readonly string[]): string {
  let line = '';
  for (const name of names) line += `,${cell(record, name)}`;
  return `${line.slice(1)}\r\n`;
}

/** Most texts, which are their own cell. */
const PLAIN = /^\w(?:[^",;\t\r\n]*[^\s",;])?$/;

function cell(record: JsonObject, name: string): string {
  const value = member(record, name);
  if (value === null || value === undefined) return '';
  if (typeof value === 'string') return PLAIN.test(value) ? value : quote(defuse(value));
  return typeof value === 'object' ? quote(defusedJson(value)) : String(value);
}

/** In JSON the separator is escaped instead, so that the value stays the same. */
function defusedJson(value: object): string {
  const text = JSON.stringify(value);
  return defuseParts(text) === text ? text : text.replaceAll(';', '\\u003b');
}

function defuse(text: string): string {
  const defused = defuseParts(text);
  return /^[=+\-@|\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/.test(text) && !defused.startsWith("'")
    ? `'${defused}`
    : defused;
}

const codesOf = (characters: string) => new Set([...characters].map((character) => character.charCodeAt(0)));
const [SEMICOLON, TAB, LINE_FEED, CARRIAGE_RETURN] = [0x3b, 0x09, 0x0a, 0x0d];
const FORMULA_STARTS = codesOf('=+-@|\uFF1D\uFF0B\uFF0D\uFF20');
/** Characters that a spreadsheet may skip before a formula. */
const SKIPPED = codesOf(' "\u00a0');

/** Puts an apostrophe before each formula that starts the text or follows a separator, in one pass. */
function defuseParts(text: string): string {
  let defused = '';
  let copied = 0;
  let isAtStart = true;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === SEMICOLON || code === TAB || code === LINE_FEED || code === CARRIAGE_RETURN)
      isAtStart = true;
    else if (!isAtStart) continue;
    else if (FORMULA_STARTS.has(code)) {
      defused += `${text.slice(copied, at)}'`;
      copied = at;
      isAtStart = false;
    } else if (!SKIPPED.has(code)) isAtStart = false;
  }
  return copied === 0 && defused === '' ? text : defused + text.slice(copied);
}

function quote(text: string): string {
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.split('"').join('""')}"` : text;
}
