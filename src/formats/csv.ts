import type { JsonObject } from '../json.js';

/**
 * A record as CSV (RFC 4180): a header line and one line. Objects and arrays are JSON in their cell. A text
 * that a spreadsheet would run as a formula gets an apostrophe in front, as OWASP advises.
 */
export function csv(record: JsonObject): string {
  const names = Object.keys(record);
  return `${names.map((name) => quote(harmless(name))).join(',')}\r\n${names.map((name) => cell(record, name)).join(',')}\r\n`;
}

function cell(record: JsonObject, name: string): string {
  const value = record[name];
  if (value === null || value === undefined) return '';
  if (typeof value === 'string') return quote(harmless(value));
  return quote(typeof value === 'object' ? JSON.stringify(value) : String(value));
}

function harmless(text: string): string {
  return /^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/.test(text) ? `'${text}` : text;
}

function quote(text: string): string {
  return /[",\r\n]/.test(text) || text !== text.trim() ? `"${text.replaceAll('"', '""')}"` : text;
}
