import { Html, html } from './html.js';
import { STYLE, STYLE_SOURCE } from './html-style.js';

/** Characters of a title. */
const MAX_TITLE = 200;

/** A whole page. `body` is what the element body contains. */
export function htmlDocument(title: string, body: Html): string {
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
</body>
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
