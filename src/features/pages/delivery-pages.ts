import { html } from '../../formats/html.js';
import { isObject, type JsonObject } from '../../json.js';
import { STATUSES } from '../webhooks/delivery-store.js';
import { pagesNav } from './collection-page.js';
import type { PageForm } from './form-action.js';
import type { Crumb } from './layout.js';
import { choiceForm, entriesTable, facts } from './list-table.js';
import { button } from './managed-pages.js';
import type { Page, PageOptions } from './pages.js';

const crumbsTo = ({ site, request }: PageOptions): Crumb[] => [
  { text: 'Webhooks', href: `${site.prefix}/webhooks` },
  { text: 'Webhook', href: `${site.prefix}/webhooks/${request.params.id}` },
];

/** The deliveries of a webhook, the newest first. */
const list: Page = {
  query: (query) => {
    const given = new URLSearchParams(query.parameters);
    if (given.get('status') === '') given.delete('status');
    return String(given);
  },
  content: (shown) => {
    const { site, request, json } = shown;
    const { data, links } = json as unknown as { data: JsonObject[]; links: Record<string, string | null> };
    const path = site.prefix + request.path;
    const entries = data.map(({ last_answer, ...entry }) => ({
      ...entry,
      last_response: isObject(last_answer) ? (last_answer.status ?? last_answer.error ?? '') : '',
    }));
    return {
      title: 'Deliveries',
      crumbs: crumbsTo(shown),
      body: html`${choiceForm(path, 'status', ['', ...STATUSES], request.query.parameters.get('status') ?? '')}
${entriesTable(entries, ['type', 'status', 'subject', 'tries', 'last_response', 'created_at'], ({ id }) => `${path}/${String(id)}`)}
${pagesNav({ first: links.first!, next: links.next!, self: links.self! })}`,
    };
  },
};

/** One delivery with its event, to be sent again. */
const one: Page = {
  content: (shown) => {
    const { site, request, json, forms } = shown;
    const path = site.prefix + request.path;
    const up = `${site.prefix}/webhooks/${request.params.id}/deliveries`;
    return {
      title: `Delivery ${String(json.id)}`,
      crumbs: [...crumbsTo(shown), { text: 'Deliveries', href: up }],
      tools: html`<a class="button" href="${String(json.subject)}">The record</a>`,
      body: html`${facts(json)}
${request.run ? undefined : html`<p>Sends the event again, with all attempts.</p>${button(`${path}/redeliver`, 'Redeliver', forms)}`}`,
    };
  },
};

export const DELIVERY_PAGES: readonly (readonly [path: string, page: Page])[] = [
  ['/webhooks/:id/deliveries', list],
  ['/webhooks/:id/deliveries/:delivery', one],
];

/** The form of an address that has no page: continues at the delivery that is due now. */
const sending: PageForm = {
  next: ({ headers }) => `${headers[headers.indexOf('Location') + 1]}?_done=sent`,
};

export const DELIVERY_FORMS: readonly (readonly [path: string, form: PageForm])[] = [
  ['/webhooks/:id/test', sending],
  ['/webhooks/:id/deliveries/:delivery/redeliver', sending],
];
