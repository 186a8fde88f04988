import type { Kind, KindPage } from '../../api/kind.js';
import { knownScopes } from '../../auth/user-scopes.js';
import type { Resource } from '../../collection/resource.js';
import { type Html, html } from '../../formats/html.js';
import type { JsonObject } from '../../json.js';
import { pagesNav } from './collection-page.js';
import type { PageForm } from './form-action.js';
import { crumbsOf, type FormModel } from './form-model.js';
import { assignmentsOf } from './form-patch.js';
import type { FormTokens } from './form-token.js';
import { capitalized } from './labels.js';
import { listTable, recordTable } from './list-table.js';
import type { Page } from './pages.js';
import { changeAction, creationAction } from './record-form-actions.js';
import { deletionForm, editPage, etagOf, hidden, newRecordPage } from './record-forms.js';
import type { Site } from './site.js';

/** The pages that create, list, change and delete managed resources. */
export function managedPages(kind: Kind, resources: readonly Resource[]): [path: string, page: Page][] {
  const { path, singular, many, canChange, page } = kind;
  if (!page) return [];
  const model = modelOf(kind, page, resources);
  const { columns, links = {}, buttons = {} } = page;
  const users = page.isOfUsers && resources.find(({ hasPasswords }) => hasPasswords)?.name;
  const list: Page = {
    query: ({ text }) => (text === '_new' ? '' : text),
    content: (shown) => {
      const { site, request, json } = shown;
      const here = { text: capitalized(many), href: `${site.prefix}${path}` };
      if (request.query.text === '_new') return newRecordPage(model, shown, [here]);
      const { data, links } = json as {
        data: JsonObject[];
        links: Record<string, string | null>;
      } & JsonObject;
      const rows = data.map((each) => ({
        ...Object.fromEntries(columns.map((name) => [name, each[name]!])),
        _id: each.id!,
      }));
      const own = ({ _id }: JsonObject, field: string) =>
        field === columns[0] ? `${site.prefix}${path}/${String(_id)}` : undefined;
      return {
        title: capitalized(many),
        tools: shown.may('POST') && html`<a class="button main" href="${here.href}?_new">New ${singular}</a>`,
        body: html`${listTable(rows, own)}\n${pagesNav(links)}`,
      };
    },
    form: creationAction(model),
  };
  const one: Page = {
    content: (shown) => {
      const { site, request, json, forms, may } = shown;
      const { _links: _, ...record } = json;
      const self = `${site.prefix}${path}/${String(json.id)}`;
      const title = model.titleOf(json, shown.names);
      const removal = page.removal ?? 'Delete';
      const more = Object.entries(links).map(
        ([name, text]) => html`<p><a href="${self}/${name}">${text}</a></p>\n`,
      );
      const crumbs = crumbsOf(site, model.name);
      const below = [...crumbs, { text: title, href: self }];
      const isEdited = canChange && may('PATCH');
      if (request.query.text === '_edit' && isEdited) return editPage(model, json, shown, below);
      if (request.query.text === '_delete' && may('DELETE'))
        return {
          title: `${removal} ${title}`,
          crumbs: below,
          body: deletionForm(self, singular, etagOf(json), forms, { verb: removal }),
        };
      const others =
        may('PATCH') &&
        Object.entries(buttons).map(([name, label]) => button(`${self}/${name}`, label, forms));
      return {
        title,
        crumbs,
        tools: html`${others}${users && html`<a class="button" href="${site.prefix}/${users}/${String(json.id)}">The record</a>`}${isEdited && html`<a class="button main" href="${self}?_edit">Edit</a>`}${may('DELETE') && html`<a class="button danger" href="${self}?_delete">${removal}…</a>`}`,
        body: html`${recordTable(record)}\n${more}`,
      };
    },
    form: changeAction(model),
  };
  return [
    [path, list],
    [`${path}/:id`, one],
  ];
}

/** The form of the address that creates another secret, which has no page. */
export function rotationForms(kind: Kind): [path: string, form: PageForm][] {
  if (kind.rotation === undefined) return [];
  const form: PageForm = {
    next: (reply, { site, request }) => {
      const record = JSON.parse(reply.body!) as JsonObject;
      return secretPage(site, kind, String(request.params.id), String(record[kind.secret!]));
    },
  };
  return [[`${kind.path}/:id/rotate`, form]];
}

/** A form that is a button. */
export function button(action: string, label: string, forms: FormTokens): Html {
  return html`<form method="post" action="${action}">${hidden('_token', forms.token)}<button>${label}</button></form>`;
}

function modelOf(kind: Kind, { columns, inputs }: KindPage, resources: readonly Resource[]): FormModel {
  const { path, singular, secret } = kind;
  const schema = kind.input(resources.map(({ name }) => name));
  const added = Object.entries(inputs(knownScopes(resources))).map(([name, keywords]) => [
    name,
    { ...schema.properties[name], ...keywords },
  ]);
  const properties = { ...schema.properties, ...Object.fromEntries(added) } as Record<string, object>;
  const rules = { schema: { ...schema, properties }, omitted: [] };
  return {
    name: path.slice(1),
    singular,
    creation: () => rules,
    change: rules,
    titleOf: (record) => String(record[columns[0]!]),
    changesIn: assignmentsOf,
    created: (record, { site }) => {
      const shown = secret === undefined ? undefined : record[secret];
      return typeof shown === 'string'
        ? secretPage(site, kind, String(record.id), shown)
        : `${site.prefix}${path}/${String(record.id)}?_done=created`;
    },
  };
}

/** A secret, which no later page shows. */
function secretPage(site: Site, { path, secret: name = '' }: Kind, id: string, secret: string) {
  return {
    title: `The new ${name}`,
    crumbs: [...crumbsOf(site, path.slice(1)), { text: `new ${name}` }],
    body: html`<p class="note" role="status">Copy the ${name} now: it is shown only once.</p>
<p><code class="secret">${secret}</code></p>
<p><a class="button" href="${site.prefix}${path}/${id}">Continue</a></p>`,
  };
}
