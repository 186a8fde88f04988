import { CREDENTIAL_SCHEMA } from '../../api/key-input.js';
import { knownScopes } from '../../auth/known-scopes.js';
import type { Resource } from '../../collection/resource.js';
import { html } from '../../formats/html.js';
import type { JsonObject } from '../../json.js';
import { crumbsOf, type FormModel } from './form-model.js';
import { assignmentsOf } from './form-patch.js';
import { formatLinks } from './formats.js';
import { pagesNav } from './list-page.js';
import { listTable, recordTable } from './list-table.js';
import type { Page } from './pages.js';
import { changeAction, creationAction } from './record-form-actions.js';
import { createDetails, deletionDetails } from './record-forms.js';
import type { Site } from './site.js';

/** Keys and certificates: to create, list and revoke them. */
export function keyPages(resources: readonly Resource[]): [path: string, page: Page][] {
  const keys = keysOf(resources);
  const list: Page = {
    content: (shown) => {
      const { site } = shown;
      const { data, links } = shown.json as unknown as {
        data: JsonObject[];
        links: Record<string, string | null>;
      };
      const rows = data.map(({ id, label, kind, subject, scopes, expires_at, last_used_at }) => ({
        label: label!,
        kind: kind!,
        subject: subject!,
        scopes: scopes!,
        expires_at: expires_at!,
        last_used_at: last_used_at!,
        _id: id!,
      }));
      return {
        title: 'Keys',
        crumbs: [{ text: 'Home', href: `${site.prefix}/` }, { text: 'keys' }],
        body: html`${createDetails(keys, shown)}
${listTable(rows, ({ _id }, field) => (field === 'label' ? `${site.prefix}/keys/${String(_id)}` : undefined))}
${pagesNav(links)}`,
        foot: formatLinks(site, shown.request, shown.route.actions.GET?.offers ?? []),
      };
    },
    form: creationAction(keys),
  };
  const one: Page = {
    content: (shown) => ({
      title: keys.titleOf(shown.json),
      crumbs: [...crumbsOf(shown.site, 'keys'), { text: keys.titleOf(shown.json) }],
      body: html`${recordTable(withoutLinks(shown.json))}
${deletionDetails('Revoke', keys, shown.json, shown)}`,
      foot: formatLinks(shown.site, shown.request, shown.route.actions.GET?.offers ?? []),
    }),
    form: changeAction(keys),
  };
  return [
    ['/keys', list],
    ['/keys/:id', one],
  ];
}

export const withoutLinks = ({ _links: _, ...record }: JsonObject): JsonObject => record;

function keysOf(resources: readonly Resource[]): FormModel {
  const scopes = knownScopes(resources);
  const { properties } = CREDENTIAL_SCHEMA;
  const choices = { ...properties.scopes, items: { ...properties.scopes.items, enum: scopes } };
  const expires = { ...properties.expires_at, format: 'date-time' };
  const schema = {
    ...CREDENTIAL_SCHEMA,
    properties: { ...properties, scopes: choices, expires_at: expires },
  };
  return {
    name: 'keys',
    singular: 'key',
    creation: () => ({ schema, omitted: [] }),
    change: { schema, omitted: [] },
    titleOf: ({ label }) => String(label),
    changesIn: assignmentsOf,
    created: (record, { site }) =>
      typeof record.key === 'string'
        ? secretPage(
            site,
            { name: 'keys', href: `${site.prefix}/keys/${String(record.id)}` },
            'key',
            record.key,
          )
        : `${site.prefix}/keys/${String(record.id)}?_done=created`,
  };
}

/** A secret, which no later page shows. */
export function secretPage(
  site: Site,
  { name, href }: { readonly name: string; readonly href: string },
  what: string,
  secret: string,
) {
  return {
    title: `The new ${what}`,
    crumbs: [...crumbsOf(site, name), { text: `new ${what}` }],
    body: html`<p class="note" role="status">Copy the ${what} now: it is shown only once.</p>
<p><code class="secret">${secret}</code></p>
<p><a class="button" href="${href}">Continue</a></p>`,
  };
}
