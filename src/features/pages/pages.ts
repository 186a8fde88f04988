import { Problem } from '../../errors/problem.js';
import { HTML_TYPE, JSON_TYPE } from '../../http/media-types.js';
import { Query } from '../../http/query-parameters.js';
import { type Reply, withoutField } from '../../http/reply.js';
import type { Request } from '../../http/request.js';
import type { Action, OpenEndpoint, Route } from '../../http/router.js';
import type { JsonObject } from '../../json.js';
import { contextOf, formEndpoint, type PageForm, pageReply } from './form-action.js';
import { formatLinks } from './format-links.js';
import { hostOf, jsonOf } from './inner-read.js';
import type { PageContent, PageContext } from './layout.js';
import { mayUse, type Site } from './site.js';

/** The content of a page. */
export interface PageOptions extends PageContext {
  /** The reply of the action. */
  readonly json: JsonObject;
  /** Whether the caller may use a method of the page's resource. */
  readonly may: (method: string) => boolean;
}

/** How the JSON of an action becomes a page. */
export interface Page {
  /** The query as the action reads it. */
  readonly query?: (query: Query) => string;
  /** The reply of an address that means no page; undefined: it means the page. */
  readonly other?: (context: PageContext, get: Action) => Promise<Reply | undefined>;
  /** The path of the JSON that the page shows, if it is not that of its own action. */
  readonly source?: string;
  /** The action distinguishes pages from JSON: in their validators, and if there is no record. */
  readonly isRecord?: boolean;
  /** Absent: the address has a form alone. */
  readonly content?: (shown: PageOptions) => Promise<PageContent> | PageContent;
  /** The page with the form whose query the action refuses; undefined: the problem is a page of its own. */
  readonly refused?: (problem: Problem, context: PageContext) => Promise<PageContent | undefined>;
  /** The actions of the page's forms. */
  readonly form?: PageForm;
}

/** A route whose GET also responds with a page, which its description offers, and which has the form of the page. */
export function withPage(route: Route, page: Page, site: Site): Route {
  const { GET: get } = route.actions;
  const form = page.form && { form: formEndpoint(route, page.form, site) };
  if (!get || !page.content) return { ...route, ...form };
  const shown = { ...get, page: (request: Request) => show(get, page, contextOf(site, request), route) };
  return { ...route, actions: { ...route.actions, GET: shown }, ...form };
}

/** Adds HTML to the offered media types: after JSON, and for clients that accept any text after event streams. */
export function withHtml(offers: readonly string[] = []): string[] {
  if (offers.includes(HTML_TYPE)) return [...offers];
  return offers.toSpliced(offers.includes('text/event-stream') ? offers.length : 1, 0, HTML_TYPE);
}

async function show(get: OpenEndpoint, page: Page, context: PageContext, { path }: Route): Promise<Reply> {
  const { request, site } = context;
  const other = await page.other?.(context, get);
  if (other) return other;
  const query = page.query ? new Query(page.query(request.query)) : request.query;
  const source = page.source === undefined ? get : site.routes.get(page.source)!.actions.GET!;
  let reply: Reply;
  try {
    reply = await source.run({
      ...{ ...request, query },
      type: page.isRecord ? HTML_TYPE : JSON_TYPE,
      // A page has no validators of its own, since it depends on its caller.
      headers: page.isRecord ? request.headers : hostOf(request.headers),
    });
  } catch (error) {
    const content = error instanceof Problem ? await page.refused?.(error, context) : undefined;
    if (!content) throw error;
    return pageReply((error as Problem).status, content, context);
  }
  if (reply.status !== 200) return reply;
  const json = (await jsonOf(reply))!;
  const may = (method: string) => mayUse(site, request, path, method, request.params);
  const content = await page.content!({ ...context, json, may });
  const at = { ...request, path: page.source ?? request.path };
  const foot = formatLinks(site, at, query.text, source.offers ?? []);
  const shown = await pageReply(200, content, context, foot);
  if (!page.isRecord) return shown;
  const validators = withoutField(withoutField(reply.headers, 'Content-Type'), 'Cache-Control');
  return { ...shown, headers: [...shown.headers, ...validators] };
}
