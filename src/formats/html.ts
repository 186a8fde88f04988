import { createHash } from 'node:crypto';
import { type Json, type JsonObject, member, setMember } from '../json.js';

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24}
table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.4rem .6rem;border-bottom:1px solid #d8dee4}
th{white-space:nowrap;color:#57606a;font-weight:600}td{overflow-wrap:anywhere}pre{margin:0;white-space:pre-wrap;font-size:.85rem}
nav a{margin-right:1rem}a{color:#0b5cad}`;

/** Only the page's own style may run: whatever a record holds stays text. */
export const CONTENT_SECURITY_POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** Fields of a record that its page shows, and characters of each value; in a list, columns and characters of a cell. */
const MAX_FIELDS = 1000;
const MAX_CHARACTERS = 16_384;
const MAX_COLUMNS = 8;
const MAX_CELL_CHARACTERS = 200;
/** Characters of JSON up to which a value is indented. */
const MAX_INDENTED = 4096;

/** A page about one record, with links to what belongs to it: text -> address. Long values are cut. */
export function recordPage(
  title: string,
  record: JsonObject,
  links: Readonly<Record<string, string>>,
): string {
  const names = Object.keys(record);
  let left = 4 * MAX_CHARACTERS;
  const rows = names.slice(0, MAX_FIELDS).map((name) => {
    const value = textOf(member(record, name));
    const shown = cut(value.text, Math.min(MAX_CHARACTERS, left));
    const heading = cut(name, MAX_CELL_CHARACTERS);
    left -= Math.min(left, shown.length + heading.length);
    const content = value.isJson && shown !== '' ? `<pre>${escapeHtml(shown)}</pre>` : escapeHtml(shown);
    return `<tr><th scope="row">${escapeHtml(heading)}</th><td>${content}</td></tr>`;
  });
  const rest = names.length - rows.length;
  const note = rest > 0 ? `<p>${rest} more fields. The JSON representation has all of them.</p>` : '';
  return page(title, `${nav(links)}<table>${rows.join('\n')}</table>${note}`);
}

/** What a list shows of a record: the first fields, each cut to a cell. */
export function summaryOf(record: JsonObject): JsonObject {
  const summary: JsonObject = {};
  for (const name of columnsOf([record])) setMember(summary, name, cellOf(member(record, name)));
  return summary;
}

/** A page about some records, each linked to its own page by `hrefOf`. */
export function listPage(
  title: string,
  records: readonly JsonObject[],
  hrefOf: (record: JsonObject) => string,
  links: Readonly<Record<string, string>>,
): string {
  const names = columnsOf(records);
  const head = names
    .map((name) => `<th scope="col">${escapeHtml(cut(name, MAX_CELL_CHARACTERS))}</th>`)
    .join('');
  const rows = records.map((record) => {
    const cells = names.map((name) =>
      name === 'id'
        ? `<a href="${escapeHtml(hrefOf(record))}">${escapeHtml(cellOf(member(record, name)))}</a>`
        : escapeHtml(cellOf(member(record, name))),
    );
    return `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`;
  });
  const body =
    rows.length === 0
      ? '<p>No records.</p>'
      : `<table><thead><tr>${head}</tr></thead><tbody>${rows.join('\n')}</tbody></table>`;
  return page(title, `${body}${nav(links)}`);
}

function page(title: string, body: string): string {
  const heading = escapeHtml(cut(title, MAX_CELL_CHARACTERS));
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${heading}</title><style>${STYLE}</style></head>
<body><main><h1>${heading}</h1>${body}</main></body></html>
`;
}

function nav(links: Readonly<Record<string, string>>): string {
  const anchors = Object.entries(links).map(
    ([text, href]) => `<a href="${escapeHtml(href)}">${escapeHtml(text)}</a>`,
  );
  return anchors.length === 0 ? '' : `<nav>${anchors.join(' ')}</nav>`;
}

/** The names that come first among the fields of records, without those of the service. */
function columnsOf(records: readonly JsonObject[]): string[] {
  const names = new Set<string>();
  for (const record of records) {
    for (const name of Object.keys(record)) {
      if (names.size === MAX_COLUMNS) return [...names];
      if (!name.startsWith('_')) names.add(name);
    }
  }
  return [...names];
}

/** A value as text; JSON is indented as long as it is short. */
function textOf(value: Json | undefined): { text: string; isJson: boolean } {
  if (value === undefined || value === null) return { text: '', isJson: false };
  if (typeof value !== 'object') return { text: String(value), isJson: false };
  const text = JSON.stringify(value);
  return { text: text.length <= MAX_INDENTED ? JSON.stringify(value, null, 2) : text, isJson: true };
}

function cellOf(value: Json | undefined): string {
  const text = typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? '');
  return text.length <= MAX_CELL_CHARACTERS ? text : `${text.slice(0, MAX_CELL_CHARACTERS).toWellFormed()}…`;
}

/** A text, or how it begins and how much of it is left out. */
function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  return `${text.slice(0, max).toWellFormed()}… (${text.length - max} more characters)`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
