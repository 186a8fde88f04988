import { setTimeout } from 'node:timers/promises';
import { permit, STRANGER } from '../../auth/principal.js';
import { Problem } from '../../errors/problem.js';
import { keyInUse } from '../../errors/record-errors.js';
import { methodNotAllowed } from '../../errors/request-errors.js';
import { type Html, pageHeaders } from '../../formats/html.js';
import { FORM_TYPE, HTML_TYPE, JSON_TYPE } from '../../http/media-types.js';
import { Query } from '../../http/query-parameters.js';
import type { Reply } from '../../http/reply.js';
import { type Body, prefersPage, type Request } from '../../http/request.js';
import { METHODS, type OpenEndpoint, type Route } from '../../http/router.js';
import { signedOut } from './errors.js';
import { FormTokens } from './form-token.js';
import { type PageContent, type PageContext, pageFor } from './layout.js';
import { Names } from './names.js';
import { hasSignIn, type Site } from './site.js';
import { type Submitted, SubmittedForm } from './submitted-form.js';

/** A page, if one is shown. */
type ShownPage = Promise<PageContent | undefined> | PageContent | undefined;

/** The context of the page for a request, or of its form. */
export const contextOf = (site: Site, request: Request): PageContext => ({
  ...{ site, request, forms: new FormTokens(request, site), names: new Names(site, request) },
});

/** The actions of the forms of a page. */
export interface PageForm {
  /** A page to show, or where the browser continues, before anything is done; undefined: nothing is missing. */
  readonly before?: (submitted: Submitted) => ShownPage | string;
  /** The query of the request for which a form stands; absent: none. */
  readonly queryOf?: (submitted: Submitted) => string;
  /** The body of the request for which a form stands; absent: it has none. Rejects with 400. */
  readonly bodyOf?: (submitted: Submitted) => Promise<Body | undefined>;
  /** Where the browser continues, or the page to show instead. */
  readonly next: (reply: Reply, submitted: Submitted) => string | PageContent;
  /** The page with the form and what was entered again; undefined: the problem is a page of its own. */
  readonly failed?: (problem: Problem, submitted: Submitted) => ShownPage;
}

/** How often a form is tried while the same form of a double click is in work, and how long it waits before. */
const ATTEMPTS = 40;
const PAUSE_MS = 50;

/**
 * Runs the action of a route for which a form stands, with the caller's permission: 303, or a page with what is wrong. A form
 * after the end of its session is shown again. Throws 403 for a form of another origin, and what the action throws.
 */
export function formEndpoint(route: Route, form: PageForm, site: Site): OpenEndpoint {
  return {
    requires: hasSignIn(site) ? 'optional' : 'credential',
    accepts: [FORM_TYPE],
    offers: [HTML_TYPE],
    run: async (request) => {
      const entered = new SubmittedForm(request.body?.value);
      const method = entered.own('_method') || 'POST';
      const submitted = { ...contextOf(site, request), method, entered };
      const { forms } = submitted;
      forms.requireOrigin();
      const endpoint = ['POST', 'PATCH', 'DELETE'].includes(method) ? route.actions[method] : undefined;
      if (!endpoint) throw methodNotAllowed(METHODS.filter((each) => each in route.actions).join(', '));
      try {
        if (request.principal === STRANGER) {
          forms.retained = entered.own('_token');
          throw signedOut();
        }
        forms.require(entered.own('_token'));
        const before = await form.before?.(submitted);
        const next = before ?? form.next(await runFor(endpoint, form, submitted), submitted);
        site.counts.clear();
        return typeof next === 'string'
          ? { status: 303, headers: ['Location', next, 'Cache-Control', 'no-store'] }
          : pageReply(200, next, submitted);
      } catch (error) {
        const isShown = error instanceof Problem && prefersPage(request.headers.accept);
        const page = isShown ? await form.failed?.(error, submitted) : undefined;
        if (!page) throw error;
        return pageReply((error as Problem).status, page, submitted);
      }
    },
  };
}

/** Runs the action as the request for which a form stands. Both forms of a double click get the response to the first. */
async function runFor(endpoint: OpenEndpoint, form: PageForm, submitted: Submitted): Promise<Reply> {
  const { request, method, entered } = submitted;
  const permission = permit(request.principal, endpoint.requires, request.params);
  const body = await form.bodyOf?.(submitted);
  const query = new Query(form.queryOf?.(submitted) ?? '');
  const { host, cookie } = request.headers;
  const own = { host, cookie, 'if-match': entered.own('_etag'), 'idempotency-key': entered.own('_key') };
  const headers = Object.fromEntries(Object.entries(own).filter(([, value]) => value));
  const inner = { ...request, method, query, type: JSON_TYPE, headers, permission, body };
  for (let attempt = 1; ; attempt++)
    try {
      return await endpoint.run(inner);
    } catch (error) {
      const isInUse = error instanceof Problem && error.code === keyInUse.type.code;
      if (!isInUse || attempt === ATTEMPTS) throw error;
      await setTimeout(PAUSE_MS);
    }
}

/** A page with forms. `foot`: its other representations. */
export async function pageReply(
  status: number,
  content: PageContent,
  { site, request, forms }: PageContext,
  foot?: Html,
): Promise<Reply & Pick<Required<Reply>, 'headers'>> {
  const body = await pageFor(site, request, content, foot);
  return { status, headers: [...pageHeaders({ hasFiles: true }), ...forms.fields], body };
}
