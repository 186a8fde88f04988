import { STYLE, STYLE_SOURCE } from './html-style.js';

/** HTML text. Templates insert it as it is. */
export class Html {
  constructor(readonly text: string) {}

  toString(): string {
    return this.text;
  }
}

/** A value that a template inserts: text is escaped, HTML is not, and `undefined` and `false` are nothing. */
export type Part = Html | string | number | undefined | false | readonly Part[];

/** A template of HTML, whose values are escaped: html`<p>${text}</p>`. Values of attributes need quotes around them. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(strings.reduce((text, string, index) => text + textOf(parts[index - 1] as Part) + string));
}

function textOf(part: Part): string {
  if (part instanceof Html) return part.text;
  if (part === undefined || part === false) return '';
  if (typeof part === 'string') return escapeHtml(part);
  return typeof part === 'number' ? String(part) : part.map(textOf).join('');
}

const [AMPERSAND, NUMBER_SIGN, SEMICOLON, ZERO] = [0x26, 0x23, 0x3b, 0x30];
const ESCAPED = /[&<>"']/;
/** The codes of these characters, each of two digits. */
const ESCAPED_CODES = new Set([...'&<>"\''].map((character) => character.charCodeAt(0)));
const REFERENCE_BYTES = '&#00;'.length;

/** Bytes, since a replacement of each character takes a second for a megabyte of them. */
function escapeHtml(text: string): string {
  if (!ESCAPED.test(text)) return text;
  const bytes = Buffer.from(text);
  const escaped = Buffer.allocUnsafe(bytes.length * REFERENCE_BYTES);
  let to = 0;
  for (let at = 0; at < bytes.length; at++) {
    const code = bytes[at]!;
    if (!ESCAPED_CODES.has(code)) escaped[to++] = code;
    else {
      escaped[to] = AMPERSAND;
      escaped[to + 1] = NUMBER_SIGN;
      escaped[to + 2] = ZERO + Math.floor(code / 10);
      escaped[to + 3] = ZERO + (code % 10);
      escaped[to + 4] = SEMICOLON;
      to += REFERENCE_BYTES;
    }
  }
  return escaped.toString('utf8', 0, to);
}

/** Characters of a title. */
const MAX_TITLE = 200;

/** A whole page. `body` is what the element body contains. */
export function htmlDocument(title: string, body: Html, script = ''): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${cut(title, MAX_TITLE)}</title>
<style>${new Html(STYLE)}</style>
</head>
<body>
${body}
${script !== '' && html`<script>${new Html(script)}</script>`}</body>
</html>
`.text;
}

/** A text, or how it begins and how much of it is left out. */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  return `${text.slice(0, max).toWellFormed()}… (${text.length - max} more characters)`;
}

/** The sources that the policy of a page permits besides its style. */
export interface PageSources {
  /** Where its forms may submit to besides this service: the origin or the scheme of a redirect. */
  readonly formTarget?: string | undefined;
  /** The source expression of its script. */
  readonly script?: string | undefined;
}

/**
 * The fields of a page, as a flat list of names and values. Only its own style applies and no other script runs, so that
 * what a record contains stays text.
 */
export function pageHeaders({ formTarget, script }: PageSources = {}): string[] {
  const policy = [
    "default-src 'none'",
    `style-src ${STYLE_SOURCE}`,
    ...(script === undefined ? [] : [`script-src ${script}`]),
    "base-uri 'none'",
    `form-action 'self'${formTarget === undefined ? '' : ` ${formTarget}`}`,
    "frame-ancestors 'none'",
  ];
  return [
    'Content-Type',
    'text/html; charset=utf-8',
    'Content-Security-Policy',
    policy.join('; '),
    'Cache-Control',
    'no-store',
    // With no-referrer, browsers would send `Origin: null` with forms.
    'Referrer-Policy',
    'same-origin',
    'X-Frame-Options',
    'DENY',
  ];
}
