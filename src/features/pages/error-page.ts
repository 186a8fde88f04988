import { STATUS_CODES } from 'node:http';
import type { Problem } from '../../errors/problem.js';
import { html, pageHeaders } from '../../formats/html.js';
import type { ErrorPage } from '../../http/reply.js';
import type { ErrorPageRequest } from '../../http/request.js';
import { collectionLabel } from './labels.js';
import { isKnown, pageFor, returnPathOf } from './layout.js';
import { collectionOf, hasSignIn, type Site, signInHref } from './site.js';

/**
 * The page of an error response. Undefined for those whose body is the same in each media type: the 406, what the specification
 * gives one form, and the 404 of a record, which has a page only where a browser opens it.
 */
export async function errorPage(
  site: Site,
  request: ErrorPageRequest,
  problem: Problem,
): Promise<ErrorPage | undefined> {
  const { status, code, message, more } = problem;
  const { shape } = more;
  const isMissing = shape === 'empty' && status === 404 && request.isNavigation;
  if (['empty', 'text', 'envelope'].includes(shape ?? '') && !isMissing) return undefined;
  const [, name, id] = request.path.split('/');
  const list = id === undefined ? undefined : collectionOf(site, name)?.resource.name;
  const signsIn = status === 401 && hasSignIn(site) && !isKnown(request.principal);
  const confirms = code === 'SECOND_FACTOR_REQUIRED' && request.principal.scheme === 'session';
  const label = signsIn ? 'Sign in' : confirms && 'Confirm with your second factor';
  const body = html`<p class="error">${message}</p>
${code === 'INSUFFICIENT_SCOPE' && html`<p>Your account lacks this right: ask an administrator for it.</p>`}
${label && html`<p><a class="button main" href="${signInHref(site, returnPathOf(request))}">${label}</a></p>`}
<p class="dim">${status} <a href="${site.prefix}/errors/${code}">${code}</a>, request ${request.id}</p>
<p>${list !== undefined && html`<a href="${site.prefix}/${list}">${collectionLabel(list)}</a> · `}<a href="${site.prefix + site.home}">The first page</a></p>`;
  const title = STATUS_CODES[status] ?? 'Error';
  return {
    headers: pageHeaders({ hasFiles: true }),
    body: await pageFor(site, request, { title, body }, undefined, request.reads),
  };
}
