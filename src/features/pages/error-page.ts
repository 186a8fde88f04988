import { STATUS_CODES } from 'node:http';
import type { Problem } from '../../errors/problem.js';
import { html, pageHeaders } from '../../formats/html.js';
import type { ErrorPage } from '../../http/reply.js';
import type { ErrorPageRequest } from '../../http/request.js';
import { isObject, type Json } from '../../json.js';
import { isKnown, layout } from './layout.js';
import { recordTable } from './list-table.js';
import { hasSignIn, type Site, signInHref } from './site.js';

/**
 * The page of an error response. Undefined for those whose body is the same in each media type: the 404 of a record,
 * which has none, the 406, and what the specification gives one form.
 */
export function errorPage(
  site: Site,
  request: ErrorPageRequest,
  problem: Problem,
  requestId: string,
): ErrorPage | undefined {
  const { status, code, message, more } = problem;
  const { shape } = more;
  if (shape === 'empty' || shape === 'text' || shape === 'envelope') return undefined;
  const details = more.details as Json | undefined;
  const here = request.query === '' ? request.path : `${request.path}?${request.query}`;
  const signIn = status === 401 && hasSignIn(site) && !isKnown(request.principal);
  const body = html`<p class="error">${message}</p>
${signIn && html`<p><a class="button main" href="${signInHref(site, here)}">Sign in</a></p>`}
${isObject(details) && recordTable(details)}
<p class="dim">${status} <a href="${site.prefix}/errors/${code}">${code}</a>${requestId !== '' && html`, request ${requestId}`}</p>
<p><a href="${site.prefix}/">To the first page</a></p>`;
  const title = STATUS_CODES[status] ?? 'Error';
  return { headers: pageHeaders(), body: layout(site, request, { title, body }) };
}
