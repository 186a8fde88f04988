import { permit } from '../../auth/principal.js';
import { Problem } from '../../errors/problem.js';
import { methodNotAllowed } from '../../errors/request-errors.js';
import { pageHeaders } from '../../formats/html.js';
import { FORM_TYPE, HTML_TYPE, JSON_TYPE } from '../../http/media-types.js';
import type { Reply } from '../../http/reply.js';
import type { Body, Request } from '../../http/request.js';
import { METHODS, type OpenEndpoint, type Route, requiring } from '../../http/router.js';
import { FormTokens } from './form-token.js';
import { layout, type PageContent } from './layout.js';
import { originOf, type Site } from './site.js';
import { SubmittedForm } from './submitted-form.js';

/** A form that a page of this service has submitted. */
export interface Submitted {
  readonly site: Site;
  readonly request: Request;
  /** The method for which the form stands. */
  readonly method: string;
  readonly entered: SubmittedForm;
  readonly forms: FormTokens;
}

/** The actions of the forms of a page. */
export interface PageForm {
  /** The body of the request for which a form stands; absent: it has none. Rejects with 400. */
  readonly bodyOf?: (submitted: Submitted) => Promise<Body | undefined>;
  /** Where the browser continues, or the page to show instead. */
  readonly next: (reply: Reply, submitted: Submitted) => string | PageContent;
  /** The page with the form again; undefined: the problem is a page of its own. */
  readonly failed?: (problem: Problem, submitted: Submitted) => PageContent | undefined;
}

/** The methods for which a form can stand, by `_method`. */
const METHODS_OF_FORMS = ['POST', 'PATCH', 'DELETE'];

/**
 * Runs the action of a route for which a form stands, with the caller's permission: 303, or a page with what is wrong.
 * Throws 403 for a form of another origin or without its token, and what the action throws.
 */
export function formEndpoint(route: Route, form: PageForm, site: Site): OpenEndpoint {
  return requiring('credential', {
    accepts: [FORM_TYPE],
    offers: [HTML_TYPE],
    parameters: [],
    run: async (request) => {
      const entered = new SubmittedForm(request.body?.value);
      const forms = new FormTokens(request.headers, site);
      forms.require(entered.own('_token'), originOf(site, request.headers.host));
      const method = entered.own('_method') || 'POST';
      const endpoint = METHODS_OF_FORMS.includes(method) ? route.actions[method] : undefined;
      if (!endpoint) throw methodNotAllowed(METHODS.filter((each) => each in route.actions).join(', '));
      const permission = permit(request.principal, endpoint.requires, request.params);
      const submitted = { site, request, method, entered, forms };
      try {
        const body = await form.bodyOf?.(submitted);
        const headers = headersOf(request.headers, entered.own('_etag'));
        const reply = await endpoint.run({ ...request, method, type: JSON_TYPE, headers, permission, body });
        const next = form.next(reply, submitted);
        return typeof next === 'string' ? seeOther(next) : pageReply(200, next, submitted);
      } catch (error) {
        const page = error instanceof Problem ? form.failed?.(error, submitted) : undefined;
        if (!page) throw error;
        return pageReply((error as Problem).status, page, submitted);
      }
    },
  });
}

/** The fields of the request for which a form stands. */
function headersOf({ host, cookie }: Request['headers'], etag: string): Request['headers'] {
  return { ...(host && { host }), ...(cookie && { cookie }), ...(etag !== '' && { 'if-match': etag }) };
}

const seeOther = (location: string): Reply => ({
  status: 303,
  headers: ['Location', location, 'Cache-Control', 'no-store'],
});

function pageReply(status: number, content: PageContent, { site, request, forms }: Submitted): Reply {
  const body = layout(site, request, content);
  return { status, headers: [...pageHeaders(), ...forms.fields], body };
}
