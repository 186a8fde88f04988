import { NOBODY, type Principal } from '../../auth/principal.js';
import { canSearch } from '../../collection/resource.js';
import { type Html, html, htmlDocument, type Part } from '../../formats/html.js';
import type { Request } from '../../http/request.js';
import type { FormTokens } from './form-token.js';
import { type Caller, readAs } from './inner-read.js';
import { cellOf, MAX_NAME_CHARACTERS } from './labels.js';
import { Names } from './names.js';
import { navigation } from './navigation.js';
import { ACCOUNT_PATH, collectionsFor, hasSignIn, ownersOf, type Site, signInHref } from './site.js';
import { nameFields } from './title.js';

/** A link to a page above another one. */
export interface Crumb {
  readonly text: string;
  readonly href: string;
}

/** The parameter of the first page with a text that is searched for in all collections. */
export const SEARCH_EVERYTHING = '_search';

/** One page of the service. */
export interface PageContent {
  readonly title: string;
  /** The pages above this one, from the first page on. */
  readonly crumbs?: readonly Crumb[];
  /** Buttons beside the heading. */
  readonly tools?: Part;
  readonly body: Html;
}

/** The request for a page, or of its form. */
export interface PageContext {
  readonly site: Site;
  readonly request: Request;
  readonly forms: FormTokens;
  readonly names: Names;
}

/**
 * A page with the navigation, the path to it, its heading and tools, and the name of the user who is signed in. `foot`: other
 * representations and commands. `reads`: whether the page may read from the database.
 */
export async function pageFor(
  site: Site,
  request: Caller,
  { title, crumbs = [], tools, body }: PageContent,
  foot?: Html,
  reads = true,
): Promise<string> {
  const [menu, caller] = await Promise.all([navigation(site, request, reads), whoIs(site, request, reads)]);
  const done = request.query.parameters.get('_done') ?? '';
  const heading = cellOf(title, MAX_NAME_CHARACTERS);
  return htmlDocument(
    heading === site.name ? heading : `${heading} · ${site.name}`,
    html`<a class="skip" href="#main">Skip to the content</a>
<div class="page"><header class="top"><a class="brand" href="${site.prefix + site.home}">${site.name}</a>
${searchForm(site, request)}<a class="menu" href="#menu">Menu</a><p>${caller}</p></header>
<main id="main">
${crumbs.length > 0 && html`<nav class="crumbs" aria-label="Path"><ol>${crumbs.map(({ text, href }) => html`<li><a href="${href}">${cellOf(text)}</a></li>`)}</ol></nav>`}
<div class="head"><h1>${heading}</h1>${tools}</div>
${Object.hasOwn(DONE, done) && html`<p class="note" role="status">${DONE[done]}</p>`}${body}
</main>
${menu}
${foot && html`<footer class="foot">${foot}</footer>`}</div>`,
    site.head,
  );
}

/** The form that searches all collections; undefined: none has fields in which the caller may search. */
function searchForm(site: Site, { principal, query }: Caller): Part {
  if (!collectionsFor(site, principal).some(({ resource }) => canSearch(resource))) return undefined;
  const text = query.parameters.get(SEARCH_EVERYTHING) ?? '';
  return html`<form role="search" aria-label="All collections" action="${site.prefix + site.home}"><input type="search" name="${SEARCH_EVERYTHING}" aria-label="Search all collections" placeholder="Search everything" value="${text}"></form>\n`;
}

/** Where a sign-in leads back to. */
export const returnPathOf = ({ path, query }: Caller): string =>
  query.text === '' ? path : `${path}?${query.text}`;

/** The caller, as a link to its record if it is a user, or the way to sign in. `reads`: by its name. */
async function whoIs(site: Site, request: Caller, reads: boolean): Promise<Part> {
  const { subject, scheme } = request.principal;
  const owner = scheme === 'session' || scheme === 'basic' ? ownersOf(site) : undefined;
  if (site.auth.length === 0) return undefined;
  if (!isKnown(request.principal))
    return hasSignIn(site) && html`<a href="${signInHref(site, returnPathOf(request))}">Sign in</a>`;
  const account = hasSignIn(site) && html` <a href="${site.prefix}${ACCOUNT_PATH}">Account</a>`;
  if (!owner) return html`<span class="dim">Signed in as ${cellOf(subject, 40)}</span>${account}`;
  const path = `/${owner.name}/:id`;
  const own = reads ? await readAs(site, request, path, nameFields(owner), subject) : undefined;
  const name = own ? new Names(site, request).titleOf(owner, own) : 'You';
  return html`<a href="${site.prefix}/${owner.name}/${subject}">${cellOf(name, 40)}</a>${account}`;
}

/** Whether a caller has a credential. */
export const isKnown = ({ scheme }: Principal): boolean => scheme !== NOBODY.scheme;

/** The notice of a form that led to this page, by `_done` in the address. Other values are ignored. */
const DONE: Readonly<Record<string, string>> = {
  created: 'Created.',
  repeated: 'This form was submitted before. A secret is shown only once.',
  saved: 'Saved.',
  unchanged: 'Nothing was changed.',
  deleted: 'Deleted.',
  revoked: 'Revoked.',
  sent: 'The delivery is due now.',
};
