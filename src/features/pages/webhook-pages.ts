import type { Resource } from '../../collection/resource.js';
import { type Html, html } from '../../formats/html.js';
import type { JsonObject } from '../../json.js';
import { webhookSchema } from '../webhooks/webhook-input.js';
import type { PageForm } from './form-action.js';
import { crumbsOf, type FormModel } from './form-model.js';
import { assignmentsOf } from './form-patch.js';
import type { FormTokens } from './form-token.js';
import { formatLinks } from './formats.js';
import { secretPage, withoutLinks } from './key-pages.js';
import { pagesNav } from './list-page.js';
import { listTable, recordTable } from './list-table.js';
import type { Page } from './pages.js';
import { changeAction, creationAction } from './record-form-actions.js';
import { changeDetails, createDetails, hidden } from './record-forms.js';
import type { Site } from './site.js';

/** Webhooks: to create, list, change, test and delete them. */
export function webhookPages(resources: readonly Resource[]): [path: string, page: Page][] {
  const webhooks = webhooksOf(resources);
  const hrefOf = (site: Site, id: unknown) => `${site.prefix}/webhooks/${String(id)}`;
  const list: Page = {
    content: (shown) => {
      const { site } = shown;
      const { data, links } = shown.json as unknown as {
        data: JsonObject[];
        links: Record<string, string | null>;
      };
      const rows = data.map(({ id, url, types, description, enabled, disabled_reason }) => ({
        url: url!,
        types: types!,
        description: description!,
        enabled: enabled!,
        disabled_reason: disabled_reason!,
        _id: id!,
      }));
      return {
        title: 'Webhooks',
        crumbs: [{ text: 'Home', href: `${site.prefix}/` }, { text: 'webhooks' }],
        body: html`${createDetails(webhooks, shown)}
${listTable(rows, ({ _id }, field) => (field === 'url' ? hrefOf(site, _id) : undefined))}
${pagesNav(links)}`,
        foot: formatLinks(site, shown.request, shown.route.actions.GET?.offers ?? []),
      };
    },
    form: creationAction(webhooks),
  };
  const one: Page = {
    content: (shown) => {
      const { site } = shown;
      const self = hrefOf(site, shown.json.id);
      const title = webhooks.titleOf(shown.json);
      return {
        title,
        crumbs: [...crumbsOf(site, 'webhooks'), { text: title }],
        body: html`${recordTable(withoutLinks(shown.json))}
<p><a href="${self}/deliveries">Deliveries</a></p>
${
  shown.may('PATCH') &&
  html`<div class="tools">${button(`${self}/test`, 'Send a test event', shown.forms)}${button(`${self}/rotate`, 'Create a new secret', shown.forms)}</div>`
}
${changeDetails(webhooks, shown.json, shown)}`,
        foot: formatLinks(site, shown.request, shown.route.actions.GET?.offers ?? []),
      };
    },
    form: changeAction(webhooks),
  };
  return [
    ['/webhooks', list],
    ['/webhooks/:id', one],
  ];
}

/** The forms of addresses that have no page. */
export const WEBHOOK_FORMS: readonly (readonly [path: string, form: PageForm])[] = [
  ['/webhooks/:id/test', sending()],
  ['/webhooks/:id/deliveries/:delivery/redeliver', sending()],
  [
    '/webhooks/:id/rotate',
    {
      bodyOf: async () => undefined,
      next: (reply, { site, request }) => {
        const { secret } = JSON.parse(reply.body!) as { secret: string };
        const href = `${site.prefix}/webhooks/${request.params.id}`;
        return secretPage(site, { name: 'webhooks', href }, 'secret', secret);
      },
      failed: () => undefined,
    },
  ],
];

/** Continues at the delivery that is due now. */
function sending(): PageForm {
  return {
    bodyOf: async () => undefined,
    next: ({ headers }) => `${headers[headers.indexOf('Location') + 1]}?_done=sent`,
    failed: () => undefined,
  };
}

/** A form that is a button. */
export function button(action: string, label: string, forms: FormTokens): Html {
  return html`<form method="post" action="${action}">${hidden('_token', forms.token)}<button>${label}</button></form>`;
}

function webhooksOf(resources: readonly Resource[]): FormModel {
  const schema = webhookSchema(resources.map(({ name }) => name));
  const { properties } = schema;
  const url = { ...properties.url, format: 'uri' };
  const rules = { schema: { ...schema, properties: { ...properties, url } }, omitted: [] };
  return {
    name: 'webhooks',
    singular: 'webhook',
    creation: () => rules,
    change: rules,
    titleOf: ({ url }) => String(url),
    changesIn: assignmentsOf,
    created: (record, { site }) =>
      secretPage(
        site,
        { name: 'webhooks', href: `${site.prefix}/webhooks/${String(record.id)}` },
        'secret',
        String(record.secret),
      ),
  };
}
