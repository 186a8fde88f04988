import { NOBODY, type Principal } from '../../auth/principal.js';
import { cut, type Html, html, htmlDocument, type Part } from '../../formats/html.js';
import type { ErrorPageRequest } from '../../http/request.js';
import { ACCOUNT_PATH, collectionsFor, hasSignIn, type Site, signInHref } from './site.js';

/** A link, or the name of the page itself. */
export interface Crumb {
  readonly text: string;
  readonly href?: string | undefined;
}

/** One page of the service. */
export interface PageContent {
  readonly title: string;
  /** The pages above this one, from the first page on. */
  readonly crumbs?: readonly Crumb[];
  readonly body: Html;
  /** The query of its other representations, if it is another one than that of the page. */
  readonly query?: string;
}

/** Collections in the bar at the top. The first page lists all. */
const MAX_IN_BAR = 6;
const MAX_HEADING = 200;

/** A page with the bar, the path to it and its heading. `foot`: other representations and commands. */
export function layout(
  site: Site,
  request: ErrorPageRequest,
  { title, crumbs = [], body }: PageContent,
  foot?: Html,
): string {
  const heading = cut(title, MAX_HEADING);
  return htmlDocument(
    heading === 'Plinth' ? heading : `${heading} · Plinth`,
    html`<a class="skip" href="#main">Skip to the content</a>
<header class="bar"><div class="top">
<nav aria-label="Service"><a class="brand" href="${site.prefix}/">Plinth</a>${barLinks(site, request)}</nav>
<p class="who">${whoIs(site, request)}</p>
</div></header>
<main id="main">
${crumbs.length > 0 && html`<nav class="crumbs" aria-label="Path"><ol>${crumbs.map(crumbItem)}</ol></nav>`}
<h1>${heading}</h1>
${statusOf(request)}${body}
</main>
${foot && html`<footer class="foot">${foot}</footer>`}`,
  );
}

function barLinks(site: Site, { principal }: ErrorPageRequest): Part {
  const { prefix } = site;
  const shown = collectionsFor(site, principal)
    .slice(0, MAX_IN_BAR)
    .map(({ resource: { name } }) => ({ name, path: `/${name}` }));
  return shown.map(({ name, path }) => html` <a href="${prefix}${path}">${name}</a>`);
}

function whoIs(site: Site, { principal, path, query }: ErrorPageRequest): Part {
  if (site.auth.length === 0) return undefined;
  const account = hasSignIn(site) && html`<a href="${site.prefix}${ACCOUNT_PATH}">Account</a>`;
  if (isKnown(principal)) return html`${subjectOf(site, principal)} ${account}`;
  const here = query === '' ? path : `${path}?${query}`;
  return hasSignIn(site) && html`<a href="${signInHref(site, here)}">Sign in</a>`;
}

/** The caller, as a link to its record if it is a user. */
function subjectOf({ collections, prefix }: Site, { subject, scheme }: Principal): Html {
  const owner = collections.find(({ resource }) => resource.owner);
  return owner && (scheme === 'session' || scheme === 'basic')
    ? html`<a href="${prefix}/${owner.resource.name}/${subject}">Your record</a>`
    : html`<span class="dim">Signed in as ${cut(subject, 40)}</span>`;
}

/** Whether a caller has a credential. */
export const isKnown = ({ scheme }: Principal): boolean => scheme !== NOBODY.scheme;

function crumbItem({ text, href }: Crumb): Html {
  const name = cut(text, 60);
  return html`<li>${href === undefined ? html`<span aria-current="page">${name}</span>` : html`<a href="${href}">${name}</a>`}</li>`;
}

/** The notice of a form that led to this page, by `_done` in the address. Other values are ignored. */
const DONE: Readonly<Record<string, string>> = {
  created: 'Created.',
  saved: 'Saved.',
  deleted: 'Deleted.',
  sent: 'The delivery is due now.',
};

function statusOf({ query }: ErrorPageRequest): Part {
  const done = query.includes('_done=') ? (new URLSearchParams(query).get('_done') ?? '') : '';
  return Object.hasOwn(DONE, done) && html`<p class="note" role="status">${DONE[done]}</p>`;
}
