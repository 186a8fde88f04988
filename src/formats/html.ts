import { createHash } from 'node:crypto';
import { type Json, type JsonObject, member } from '../json.js';

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24}
table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.4rem .6rem;border-bottom:1px solid #d8dee4}
th{white-space:nowrap;color:#57606a;font-weight:600}td{overflow-wrap:anywhere}pre{margin:0;white-space:pre-wrap;font-size:.85rem}
nav a{margin-right:1rem}a{color:#0b5cad}`;

/** Only the page's own style may run: whatever a record holds stays text. */
export const CONTENT_SECURITY_POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** A page about one record, with links to what belongs to it: text -> address. */
export function recordPage(
  title: string,
  record: JsonObject,
  links: Readonly<Record<string, string>>,
): string {
  const rows = Object.entries(record).map(
    ([name, value]) => `<tr><th scope="row">${escapeHtml(name)}</th><td>${show(value)}</td></tr>`,
  );
  return page(title, `${nav(links)}<table>${rows.join('\n')}</table>`);
}

/** A page about some records, each linked to its own page by `hrefOf`. */
export function listPage(
  title: string,
  records: readonly JsonObject[],
  hrefOf: (record: JsonObject) => string,
  links: Readonly<Record<string, string>>,
): string {
  const names = [...new Set(records.flatMap((record) => Object.keys(record)))]
    .filter((name) => !name.startsWith('_'))
    .slice(0, 8);
  const head = names.map((name) => `<th scope="col">${escapeHtml(name)}</th>`).join('');
  const rows = records.map((record) => {
    const cells = names.map((name) =>
      name === 'id'
        ? `<a href="${escapeHtml(hrefOf(record))}">${show(member(record, name))}</a>`
        : show(member(record, name)),
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
  const heading = escapeHtml(title);
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

function show(value: Json | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'object'
    ? `<pre>${escapeHtml(JSON.stringify(value, null, 2))}</pre>`
    : escapeHtml(String(value));
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
