import { ERRORS_PATH } from '../../api/document-endpoints.js';
import { html, type Part } from '../../formats/html.js';
import { type JsonObject, member } from '../../json.js';
import { actorHtml, readActors } from './change-author.js';
import { pagesNav } from './collection-page.js';
import type { PageForm } from './form-action.js';
import { button } from './form-html.js';
import { capitalized, fieldLabel, wordsOf } from './labels.js';
import type { Crumb } from './layout.js';
import { facts, tableOf } from './list-table.js';
import { SERVICE } from './navigation.js';
import type { Page, PageOptions } from './pages.js';
import type { Site } from './site.js';
import { valueHtml } from './values.js';
import { VERSIONS_PATH } from './versions-page.js';

/**
 * The page of a list of things that are no records: some members in a table, the first one with a link to the page of its thing.
 * `singular`: the word for one, if a form creates it. `user`: the member with the id of a user, or with a text for another caller.
 */
export const thingsPage = (columns: readonly string[], singular?: string, user = ''): Page => ({
  content: async ({ site, request, json, names, may }) => {
    const list = site.prefix + request.path;
    const data = json.data as JsonObject[];
    const links = (json.links ?? {}) as Readonly<Record<string, string | null>>;
    const users = data.map((entry) => entry[user]);
    await readActors(names, users);
    const rows = data.map((entry) => {
      const href = String(entry.href ?? `${list}/${String(entry.id ?? entry.code)}`);
      return columns.map((column, at) => {
        const value = member(entry, column);
        const text = column === user ? actorHtml(names, String(value)) : valueHtml(value);
        return at === 0 ? html`<a href="${href}">${text}</a>` : text;
      });
    });
    const heads = columns.map((column) => ({ label: fieldLabel(column) }));
    const create = html`<a class="button main" href="${list}?_new">New ${singular}</a>`;
    return {
      title: headingOf(request.path),
      crumbs: crumbsAbove(site, request.path),
      tools: singular !== undefined && may('POST') && create,
      body: html`${rows.length === 0 ? html`<p>There are none yet.</p>` : tableOf(heads, rows)}
${pagesNav(links)}`,
    };
  },
});

const headingOf = (path: string): string =>
  SERVICE.find(([each]) => each === path)?.[1] ?? capitalized(wordsOf(path.slice(path.lastIndexOf('/') + 1)));

/** The pages above the page of a path: lists, and between them the things to which they belong. */
export function crumbsAbove({ prefix }: Site, path: string): Crumb[] {
  const segments = path.split('/').slice(1, -1);
  return segments.map((segment, at) => ({
    text: at % 2 === 0 ? headingOf(`/${segment}`) : headingOf(`/${segments[at - 1]}`).replace(/s$/, ''),
    href: `${prefix}/${segments.slice(0, at + 1).join('/')}`,
  }));
}

/** The page of one thing: its members, and the ways to change it. */
const thingPage = (titleOf: (json: JsonObject) => string, toolsOf?: (shown: PageOptions) => Part): Page => ({
  content: (shown) => {
    const { links: _, ...members } = shown.json;
    return {
      title: titleOf(shown.json),
      crumbs: crumbsAbove(shown.site, shown.request.path),
      tools: toolsOf?.(shown),
      body: facts(members),
    };
  },
});

/** Continues at the delivery that is due now. */
const sending: PageForm = {
  next: ({ headers }) => `${headers[headers.indexOf('Location') + 1]}?_done=sent`,
};

const DELIVERIES = '/webhooks/:id/deliveries';

/** The pages about the service, by their paths, besides those of what operators manage. Some paths have a form alone. */
export const SERVICE_PAGES: Readonly<Record<string, Page>> = {
  [ERRORS_PATH]: thingsPage(['code', 'status', 'message']),
  [`${ERRORS_PATH}/:code`]: thingPage(({ code }) => String(code)),
  '/whoami': thingPage(() => 'Who am I'),
  '/jobs': thingsPage(['collection', 'state', 'created_at', 'ended_at']),
  '/jobs/:id': {
    ...thingPage(
      ({ collection }) => `Job of ${String(collection)}`,
      ({ site, request, json, forms, may }) => {
        const label = `${json.ended_at === null ? 'Cancel' : 'Remove'} this job`;
        return may('DELETE') && button(site.prefix + request.path, label, forms, { _method: 'DELETE' });
      },
    ),
    form: { next: (_reply, { site }) => `${site.prefix}/jobs?_done=deleted` },
  },
  [VERSIONS_PATH]: thingsPage(['path', 'deprecation', 'sunset']),
  '/webhooks/:id/test': { form: sending },
  [DELIVERIES]: thingsPage(['type', 'status', 'subject', 'tries', 'created_at']),
  [`${DELIVERIES}/:delivery`]: thingPage(
    ({ id }) => `Delivery ${String(id)}`,
    ({ site, request, json, forms }) =>
      html`<a class="button" href="${String(json.subject)}">The record</a>${button(`${site.prefix}${request.path}/redeliver`, 'Redeliver', forms)}`,
  ),
  [`${DELIVERIES}/:delivery/redeliver`]: { form: sending },
};
