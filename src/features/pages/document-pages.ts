import { html } from '../../formats/html.js';
import type { Json, JsonObject } from '../../json.js';
import type { Crumb } from './layout.js';
import { listTable, recordTable } from './list-table.js';
import type { Page, PageOptions } from './pages.js';
import { hidden } from './record-forms.js';

const home = ({ site }: PageOptions): Crumb => ({ text: 'Home', href: `${site.prefix}/` });

/** All codes of errors. */
export const errorsPage: Page = {
  content: (shown) => {
    const rows = (shown.json.data as JsonObject[]).map(({ code, status, message }) => ({
      code: code!,
      status: status!,
      message: message!,
    }));
    const self = `${shown.site.prefix}/errors`;
    return {
      title: 'Errors',
      crumbs: [home(shown), { text: 'errors' }],
      body: listTable(rows, ({ code }, field) => (field === 'code' ? `${self}/${code}` : undefined)),
    };
  },
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
      body: html`${recordTable(entry)}\n${bodies}<p><a href="${list}">All codes of errors</a></p>`,
    };
  },
};

const shownBody = (body: Json): string => (typeof body === 'string' ? body : JSON.stringify(body, null, 2));

/** The caller. */
export const whoamiPage: Page = {
  content: (shown) => ({
    title: 'Who am I',
    crumbs: [home(shown), { text: 'whoami' }],
    body: html`${recordTable(shown.json)}`,
  }),
};

/** The jobs of the caller. */
export const jobsPage: Page = {
  content: ({ site, json }) => {
    const rows = (json.data as JsonObject[]).map(({ id, collection, state, created_at, ended_at }) => ({
      ...{ id: id!, collection: collection!, state: state! },
      ...{ created_at: created_at!, ended_at: ended_at! },
    }));
    return {
      title: 'Jobs',
      body: listTable(rows, ({ id }, field) =>
        field === 'id' ? `${site.prefix}/jobs/${String(id)}` : undefined,
      ),
    };
  },
};

/** A job: how far it is, what it has refused, and a button that cancels or removes it. */
export const jobPage: Page = {
  content: ({ site, request, json, forms, may }) => {
    const { _links, ...job } = json;
    const path = site.prefix + request.path;
    return {
      title: `Job of ${String(job.collection)}`,
      crumbs: [{ text: 'Jobs', href: `${site.prefix}/jobs` }],
      body: html`${recordTable(job)}
${may('DELETE') && html`<form method="post" action="${path}">${hidden('_token', forms.token)}${hidden('_method', 'DELETE')}<p><button class="danger">${ENDED.includes(String(job.state)) ? 'Remove' : 'Cancel'} this job</button></p></form>`}`,
    };
  },
  form: { next: (_reply, { site }) => `${site.prefix}/jobs?_done=deleted` },
};

/** States in which a job does nothing more. */
const ENDED = ['done', 'failed', 'cancelled'];
