import { html } from '../../formats/html.js';
import type { Json, JsonObject } from '../../json.js';
import type { Crumb } from './layout.js';
import { entriesTable, labelled, recordTable } from './list-table.js';
import type { Page, PageOptions } from './pages.js';
import { hidden } from './record-forms.js';

const home = ({ site }: PageOptions): Crumb => ({ text: 'Home', href: site.prefix + site.home });

/** All codes of errors. */
export const errorsPage: Page = {
  content: (shown) => ({
    title: 'Errors',
    crumbs: [home(shown), { text: 'errors' }],
    body: entriesTable(
      shown.json.data as JsonObject[],
      ['code', 'status', 'message'],
      `${shown.site.prefix}/errors`,
      'code',
    ),
  }),
};

/** One code. */
export const errorCodePage: Page = {
  content: (shown) => {
    const { examples, links: _, ...entry } = shown.json;
    const list = `${shown.site.prefix}/errors`;
    const bodies = Object.entries(examples as JsonObject).map(
      ([type, body]) => html`<h2>Example: ${type}</h2>\n<pre>${shownBody(body!)}</pre>\n`,
    );
    return {
      title: String(entry.code),
      crumbs: [home(shown), { text: 'errors', href: list }, { text: String(entry.code) }],
      body: html`${recordTable(labelled(entry))}\n${bodies}<p><a href="${list}">All codes of errors</a></p>`,
    };
  },
};

const shownBody = (body: Json): string => (typeof body === 'string' ? body : JSON.stringify(body, null, 2));

/** The caller. */
export const whoamiPage: Page = {
  content: (shown) => ({
    title: 'Who am I',
    crumbs: [home(shown), { text: 'whoami' }],
    body: html`${recordTable(labelled(shown.json))}`,
  }),
};

/** The jobs of the caller. */
export const jobsPage: Page = {
  content: ({ site, json }) => ({
    title: 'Jobs',
    body: entriesTable(
      json.data as JsonObject[],
      ['collection', 'state', 'created_at', 'ended_at'],
      `${site.prefix}/jobs`,
    ),
  }),
};

/** A job: how far it is, what it has refused, and a button that cancels or removes it. */
export const jobPage: Page = {
  content: ({ site, request, json, forms, may }) => {
    const path = site.prefix + request.path;
    return {
      title: `Job of ${String(json.collection)}`,
      crumbs: [{ text: 'Jobs', href: `${site.prefix}/jobs` }],
      body: html`${recordTable(labelled(json))}
${may('DELETE') && html`<form method="post" action="${path}">${hidden('_token', forms.token)}${hidden('_method', 'DELETE')}<p><button class="danger">${ENDED.includes(String(json.state)) ? 'Remove' : 'Cancel'} this job</button></p></form>`}`,
    };
  },
  form: { next: (_reply, { site }) => `${site.prefix}/jobs?_done=deleted` },
};

/** States in which a job does nothing more. */
const ENDED = ['done', 'failed', 'cancelled'];
