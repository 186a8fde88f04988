import { createHash } from 'node:crypto';

/** The style of every page. Beside a wide page stands the navigation; on narrow screens each row of a list becomes a card. */
export const STYLE = `:root{color-scheme:light dark;--text:#1b1f24;--dim:#57606a;--line:#d8dee4;--edge:#7d8590;--link:#0b5cad;--ground:#fff;--soft:#f4f6f8;--bad:#b42318}
@media (prefers-color-scheme:dark){:root{--text:#e6edf3;--dim:#9198a1;--line:#30363d;--edge:#7d8590;--link:#6cb2ff;--ground:#0d1117;--soft:#161b22;--bad:#ff8f86}}
*{box-sizing:border-box}body{margin:0;font:15px/1.45 system-ui,sans-serif;color:var(--text);background:var(--ground)}
.page{display:grid;grid-template:auto 1fr auto/14rem minmax(0,1fr);min-height:100vh}.top{grid-column:1/-1}.side{grid-area:2/1/4/2}.page main{grid-area:2/2}.foot{grid-area:3/2}
.top{display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:center;padding:.5rem 1rem;border-bottom:1px solid var(--line)}.brand{display:flex;gap:.5rem;align-items:center;margin-right:auto;font-weight:700;color:inherit;text-decoration:none;padding:.25rem 0}.top form{flex:0 1 16rem;min-width:8rem}.top input{width:100%}.top p{margin:0;display:flex;gap:1rem}
.side{border-right:1px solid var(--line);padding:1rem;background:var(--soft)}.side h2{font-size:.75rem;text-transform:uppercase;letter-spacing:.06em;color:var(--dim);margin:1rem 0 .25rem}.side h2:first-child{margin-top:0}.side ul{list-style:none;margin:0;padding:0}.side a{display:flex;justify-content:space-between;gap:.5rem;padding:.3rem .5rem;border-radius:6px;color:inherit;text-decoration:none}.side a:hover{background:var(--ground)}.side [aria-current]{background:var(--ground);font-weight:600;box-shadow:inset 3px 0 var(--link)}small{color:var(--dim)}
.menu{display:none}main{padding:1rem 1.5rem 3rem;min-width:0}main.narrow{max-width:28rem;margin:0 auto;padding-top:2.5rem}.foot{border-top:1px solid var(--line);padding:.75rem 1.5rem 1.5rem;font-size:.875rem;color:var(--dim)}.foot code{min-width:0;word-break:break-all}.foot p{margin:0 0 .5rem;display:flex;flex-wrap:wrap;gap:.25rem 1rem}
h1{font-size:1.5rem;line-height:1.25;margin:0;overflow-wrap:anywhere}h2{font-size:1.1rem;margin:1.75rem 0 .5rem}.cols>div>h2:first-child{margin-top:.25rem}.head{display:flex;flex-wrap:wrap;gap:.5rem .75rem;align-items:center;margin-bottom:.75rem}.head h1{margin-right:auto}
p,li,dt,dd,td,th{overflow-wrap:anywhere}a{color:var(--link)}main li{padding:.1rem 0}.dim,.hint{color:var(--dim)}.hint{font-size:.875rem;margin:.15rem 0 0}
.crumbs{font-size:.9rem;margin-bottom:.15rem}.crumbs ol{display:flex;flex-wrap:wrap;list-style:none;margin:0;padding:0}.crumbs li+li::before{content:"/";padding:0 .5rem;color:var(--dim)}
.skip{position:absolute;left:-99rem}.skip:focus{left:.5rem;top:.5rem;background:var(--ground);padding:.5rem;z-index:9}
button,.button,input,select,textarea{font:inherit;color:inherit;background:var(--ground);border:1px solid var(--edge);border-radius:6px;padding:.35rem .65rem;max-width:100%}button,.button{cursor:pointer;background:var(--soft);text-decoration:none;display:inline-block}.main{background:var(--link);border-color:var(--link);color:var(--ground);font-weight:600}.danger{border-color:var(--bad);color:var(--bad)}
.tools,.pages,.chips{display:flex;flex-wrap:wrap;gap:.4rem .5rem;align-items:center;margin:.5rem 0;padding:0;list-style:none}.tools form{display:inline-flex;gap:.4rem;margin:0}.chips:empty{display:none}.pages{margin:1rem 0}.pages a,.pages b{padding:.25rem .6rem;border:1px solid var(--line);border-radius:6px;text-decoration:none}.pages b{background:var(--link);color:var(--ground)}
.chip{display:inline-flex;align-items:center;background:var(--soft);border:1px solid var(--line);border-radius:99px;padding:.1rem .2rem .1rem .7rem}.chip a{text-decoration:none;padding:.1rem .5rem}
.links a{display:block;padding:.2rem 0;width:fit-content}.pop{position:relative;border:0;margin:0}.pop>summary{list-style:none;font-weight:400}.pop>div{position:absolute;right:0;z-index:3;background:var(--ground);border:1px solid var(--edge);border-radius:8px;padding:.75rem;min-width:15rem;margin:0}
.scroll{overflow:auto;max-height:75vh;border:1px solid var(--line);border-radius:8px}table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.5rem .75rem;border-bottom:1px solid var(--line)}.list td,.list th{min-width:4rem;max-width:24rem;padding:.5rem}.list td{overflow-wrap:break-word}
thead th,thead td{position:sticky;top:0;background:var(--soft);font-weight:600;white-space:nowrap;z-index:1}thead th{vertical-align:baseline}thead a{color:inherit;text-decoration:none;display:inline-block;padding:.1rem 0}tbody th{font-weight:600}h2 .button{font-size:.9rem;font-weight:400}.list tbody th{min-width:12rem}.list .pick{min-width:0;width:1rem}.pick input{width:1.5rem;height:1.5rem;margin:0;vertical-align:top}tbody tr:last-child>*{border-bottom:0}.late{color:var(--bad)}.number{text-align:right;font-variant-numeric:tabular-nums}time,.tag,.nw{white-space:nowrap}tr:has(.pick :checked){background:var(--soft)}
.tag{display:inline-block;border:1px solid var(--line);border-radius:99px;padding:0 .5rem;font-size:.85rem;margin:0 .2rem .1rem 0}.s1,.s2,.s3,.s4{border:0;color:#fff}.s1{background:#0b5cad}.s2{background:#7a4b00}.s3{background:#6639ba}.s4{background:#1a6b34}
.bulk{position:sticky;bottom:0;background:var(--ground);border:1px solid var(--line);border-radius:8px;padding:.5rem .75rem;margin-top:.75rem;z-index:2}form:not(:has(input:checked))>.bulk{position:static}
dl{display:grid;grid-template-columns:minmax(6rem,11rem) 1fr;gap:.35rem 1rem;margin:0}dt{color:var(--dim)}dd{margin:0;white-space:pre-line}.cols{display:grid;grid-template-columns:minmax(0,2fr) minmax(14rem,1fr);gap:2rem}.long{white-space:pre-wrap;max-width:46rem}.changes{list-style:none;padding:0}.changes>li{margin-bottom:.75rem}.list .bar{width:50%;max-width:none}.bar svg{width:100%;height:.75rem}.bar rect{fill:var(--link)}
pre{margin:0;white-space:pre-wrap;font-size:.85rem;overflow-wrap:anywhere}code{font-size:.875em;overflow-wrap:anywhere}
form{margin:0}label,legend{font-weight:600}.field{margin:0 0 1rem}.field>label{display:block;margin-bottom:.2rem}fieldset{border:1px solid var(--line);border-radius:6px;margin:0 0 1rem;padding:.5rem .75rem}.field input:not([type=checkbox],[type=radio]),.field textarea,.field select,.rows input{width:100%}.rows input{margin-bottom:.35rem}.edit{max-width:42rem}.wide{max-width:66rem}.wide .scroll{max-height:none}.wide select{width:13rem}.wide td:last-child{max-width:none}.steps details{border:0;margin:0}.steps summary{padding:.1rem 0;font-weight:400}.wide td input:not([type=checkbox]),.wide th input{width:100%}.flag{font-weight:400;margin-right:.4rem;white-space:nowrap}.code{font:.85rem/1.5 ui-monospace,monospace;width:100%}.two{display:grid;grid-template-columns:repeat(auto-fit,minmax(12rem,1fr));gap:0 1rem}.check{display:block;font-weight:400;padding:.15rem 0}.checks{columns:12rem}
.narrow input:not([type=hidden],[hidden]),.narrow form>button,.narrow p>.button{width:100%}.narrow .button{text-align:center}.narrow form>label{display:block;margin:1rem 0 .25rem}.narrow form>button{margin-top:1rem}.narrow li form{display:inline}.narrow li button{padding:.1rem .5rem;margin-left:.5rem}
.secret{font-size:1rem;user-select:all}.sides{display:grid;grid-template-columns:repeat(auto-fit,minmax(14rem,1fr));gap:.5rem 1.5rem}.sides .field>label{position:absolute;left:-99rem}.stored{padding:.4rem .6rem;background:var(--soft);border-radius:6px}
details{border:1px solid var(--line);border-radius:6px;margin:.75rem 0}summary{cursor:pointer;padding:.5rem .75rem;font-weight:600}summary .dim{font-weight:400}details>:not(summary){margin:.5rem .75rem 1rem}.pop>summary.button{padding:.35rem .65rem}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}.error,.note{border-left:4px solid var(--bad);padding:.1rem 0 .1rem .75rem}.note{border-color:var(--link)}div.error{margin-bottom:1rem}.error,.error a{color:var(--bad)}.field .error{border:0;padding:0;margin:.2rem 0 0}[aria-invalid]{border-color:var(--bad)}
@media (min-width:75rem){.wide td:last-child{white-space:nowrap}}
@media (max-width:60rem){.page{display:block}.side{border:0;border-top:1px solid var(--line)}.side a{padding:.5rem}.menu{display:inline}.cols{grid-template-columns:minmax(0,1fr);gap:0}}
@media (max-width:40rem){main{padding:.75rem 1rem 3rem}.two{grid-template-columns:1fr}.scroll{border:0;max-height:none}thead{display:none}.list,.list tbody{display:block}.list tbody tr{display:grid;grid-template-columns:1.5rem 1fr auto;gap:.15rem .5rem;border:1px solid var(--line);border-radius:8px;padding:.6rem .75rem;margin-bottom:.5rem}.list tbody th,.list tbody td{border:0;padding:0;min-width:0;max-width:none;text-align:left}.list td[data-label]:not(.badge){grid-column:2/-1;color:var(--dim);line-height:1.65}.list td[data-label]:not(.badge)::before{content:attr(data-label) ": "}.list td:empty{display:none}.list .bar{width:auto}.list td:not([data-label],.pick){grid-column:1/-1}.list tr:not(:has(.pick)){grid-template-columns:1fr auto}.list tr:not(:has(.pick)) td[data-label]:not(.badge){grid-column:1/-1}.pop>div{position:static}.top form{order:3;flex:1 1 100%}}`;

/** The source expression of a style or a script, for the policy of pages. */
const sourceOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

const STYLE_SOURCE = sourceOf(STYLE);

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

/** A hidden field of a form. */
export const hidden = (name: string, value: string): Html =>
  html`<input type="hidden" name="${name}" value="${value}">`;

function textOf(part: Part): string {
  if (part instanceof Html) return part.text;
  if (part === undefined || part === false) return '';
  if (typeof part === 'string') return escapeHtml(part);
  return typeof part === 'number' ? String(part) : part.map(textOf).join('');
}

/** The characters that are escaped, the ampersand of the references first. */
const ESCAPED = ['&', '<', '>', '"', "'"];

/** In parts, since a replacement of each character takes a second for a megabyte of them. */
const escapeHtml = (text: string): string =>
  ESCAPED.reduce(
    (escaped, each) =>
      escaped.includes(each) ? escaped.split(each).join(`&#${each.charCodeAt(0)};`) : escaped,
    text,
  );

/** The address of a style with the name, the logo and the colour of the service, for pages without a head of their own. */
export const SITE_STYLE_PATH = '/_assets/site.css';

/** Characters of a title. */
const MAX_TITLE = 200;

/** A whole page. `body` is what the element body contains, and `style` loads its style, or has its text. */
export function htmlDocument(
  title: string,
  body: Html,
  style = html`<style>${new Html(STYLE)}</style><link rel="stylesheet" href="${SITE_STYLE_PATH}">`,
): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${cut(title, MAX_TITLE)}</title>
${style}
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
  return `${beginningOf(text, max)}… (${text.length - max} more characters)`;
}

/** The first characters of a text, as a copy: a slice would retain the whole text. Half a character is replaced. */
export const beginningOf = (text: string, max: number): string => Buffer.from(text.slice(0, max)).toString();

/** The sources that the policy of a page permits besides its style. */
export interface PageSources {
  /** Where its forms may submit to besides this service: the origin or the scheme of a redirect. */
  readonly formTarget?: string | undefined;
  /** The text of its script. */
  readonly script?: string | undefined;
  /** Whether its style and its script are files of this service. */
  readonly hasFiles?: boolean;
}

/**
 * The fields of a page, as a flat list of names and values. Only its own style applies and no other script runs, so that
 * what a record contains stays text.
 */
export function pageHeaders({ formTarget, script, hasFiles = false }: PageSources = {}): string[] {
  const scripts = hasFiles ? "'self'" : script && sourceOf(script);
  const policy = [
    "default-src 'none'",
    `style-src 'self'${hasFiles ? '' : ` ${STYLE_SOURCE}`}`,
    ...(scripts === undefined ? [] : [`script-src ${scripts}`]),
    // The logo.
    'img-src data:',
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
