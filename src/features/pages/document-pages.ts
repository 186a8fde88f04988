import { html } from '../../formats/html.js';
import type { Json, JsonObject } from '../../json.js';
import { openForm } from './form-html.js';
import { entriesTable, facts } from './list-table.js';
import type { Page } from './pages.js';

/** All codes of errors. */
export const errorsPage: Page = {
  content: ({ site, json }) => ({
    title: 'Errors',
    body: entriesTable(
      json.data as JsonObject[],
      ['code', 'status', 'message'],
      ({ code }) => `${site.prefix}/errors/${String(code)}`,
    ),
  }),
};

/** One code. */
export const errorCodePage: Page = {
  content: ({ site, json }) => {
    const { examples, links: _, ...entry } = json;
    const bodies = Object.entries(examples as JsonObject).map(
      ([type, body]) => html`<h2>Example: ${type}</h2>\n<pre>${shownBody(body!)}</pre>\n`,
    );
    return {
      title: String(entry.code),
      crumbs: [{ text: 'Errors', href: `${site.prefix}/errors` }],
      body: html`${facts(entry)}\n${bodies}`,
    };
  },
};

const shownBody = (body: Json): string => (typeof body === 'string' ? body : JSON.stringify(body, null, 2));

/** The caller. */
export const whoamiPage: Page = {
  content: ({ json }) => ({ title: 'Who am I', body: facts(json) }),
};

/** The jobs of the caller. */
export const jobsPage: Page = {
  content: ({ site, json }) => ({
    title: 'Jobs',
    body: entriesTable(
      json.data as JsonObject[],
      ['collection', 'state', 'created_at', 'ended_at'],
      ({ id }) => `${site.prefix}/jobs/${String(id)}`,
    ),
  }),
};

/** A job: how far it is, what it has refused, and a button that cancels or removes it. */
export const jobPage: Page = {
  content: ({ site, request, json, forms, may }) => {
    const verb = ENDED.includes(String(json.state)) ? 'Remove' : 'Cancel';
    return {
      title: `Job of ${String(json.collection)}`,
      crumbs: [{ text: 'Jobs', href: `${site.prefix}/jobs` }],
      body: html`${facts(json)}
${may('DELETE') && html`${openForm(site.prefix + request.path, forms, { _method: 'DELETE' })}<p><button class="danger">${verb} this job</button></p></form>`}`,
    };
  },
  form: { next: (_reply, { site }) => `${site.prefix}/jobs?_done=deleted` },
};

/** States in which a job does nothing more. */
const ENDED = ['done', 'failed', 'cancelled'];
