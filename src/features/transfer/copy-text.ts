import type { ColumnValue } from '../../collection/column.js';

/** A column's value in the text format of COPY. */
export function copyText(value: ColumnValue): string {
  if (value === null) return '\\N';
  if (typeof value === 'string') return escapeText(value);
  if (typeof value !== 'object') return String(value);
  return escapeText(Array.isArray(value) ? arrayLiteral(value) : JSON.stringify(value, withoutNull));
}

const NEEDS_ESCAPE = /[\\\t\n\r]/;
const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

/** Text, which may also be JSON, in the text format of COPY. */
export function escapeText(text: string): string {
  return NEEDS_ESCAPE.test(text) ? text.replace(/[\\\t\n\r]/g, (character) => ESCAPES[character]!) : text;
}

function arrayLiteral(list: readonly (string | number)[]): string {
  const elements = list.map((each) =>
    typeof each === 'number' ? String(each) : `"${each.replace(/["\\]/g, '\\$&')}"`,
  );
  return `{${elements.join(',')}}`;
}

/** Members that are null are not stored. */
const withoutNull = (_: string, value: unknown) => (value === null ? undefined : value);
