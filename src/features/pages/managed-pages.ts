import type { Kind, KindPage } from '../../api/kind.js';
import { knownScopes } from '../../auth/user-scopes.js';
import type { Resource } from '../../collection/resource.js';
import { type Html, html, type Part } from '../../formats/html.js';
import type { JsonObject } from '../../json.js';
import { ownersOf, readActors } from './change-author.js';
import { pagesNav } from './collection-page.js';
import type { PageForm } from './form-action.js';
import { crumbsOf, type FormModel } from './form-model.js';
import { assignmentsOf } from './form-patch.js';
import type { FormTokens } from './form-token.js';
import { capitalized } from './labels.js';
import { entriesTable, labelled, recordTable } from './list-table.js';
import { SERVICE } from './navigation.js';
import type { Page, PageOptions } from './pages.js';
import { changeAction, creationAction } from './record-form-actions.js';
import { deletionForm, editPage, etagOf, hidden, newRecordPage } from './record-forms.js';
import type { Site } from './site.js';

/** The pages that create, list, change and delete managed resources. */
export function managedPages(kind: Kind, resources: readonly Resource[]): [path: string, page: Page][] {
  const { path, singular, many, canChange, page } = kind;
  if (!page) return [];
  const model = modelOf(kind, page, resources);
  const { columns, user, links = {}, buttons = {} } = page;
  const heading = SERVICE.find(([each]) => each === path)?.[1] ?? capitalized(many);
  const list: Page = {
    query: ({ text }) => (text === '_new' ? '' : text),
    content: async (shown) => {
      const { site, request, json } = shown;
      const here = { text: heading, href: site.prefix + path };
      if (request.query.text === '_new') return newRecordPage(model, shown, [here]);
      const { data, links } = json as {
        data: JsonObject[];
        links: Record<string, string | null>;
      } & JsonObject;
      const own = user !== undefined && columns.includes(user) ? await withNames(data, user, shown) : data;
      return {
        title: heading,
        tools: shown.may('POST') && html`<a class="button main" href="${here.href}?_new">New ${singular}</a>`,
        body: html`${entriesTable(own, columns, here.href)}\n${pagesNav(links)}`,
      };
    },
    form: creationAction(model),
  };
  const one: Page = {
    content: async (shown) => {
      const { site, request, json, forms, may } = shown;
      const self = `${site.prefix}${path}/${String(json.id)}`;
      const title = model.titleOf(json, shown.names);
      const removal = page.removal ?? 'Delete';
      const more = Object.entries(links).map(
        ([name, text]) => html`<p><a href="${self}/${name}">${text}</a></p>\n`,
      );
      const crumbs = [{ text: heading, href: site.prefix + path }];
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
        tools: html`${others}${user !== undefined && (await userLink(String(json[user]), shown))}${isEdited && html`<a class="button main" href="${self}?_edit">Edit</a>`}${may('DELETE') && html`<a class="button danger" href="${self}?_delete">${removal}…</a>`}`,
        body: html`${recordTable(labelled(json))}\n${more}`,
      };
    },
    form: changeAction(model),
  };
  return [
    [path, list],
    [`${path}/:id`, one],
  ];
}

/** Entries with the names of users in place of their ids, as far as the caller may read these users. */
async function withNames(entries: readonly JsonObject[], user: string, { names }: PageOptions) {
  await readActors(
    names,
    entries.map((entry) => String(entry[user])),
  );
  return entries.map((entry) => ({ ...entry, [user]: names.of(String(entry[user])) ?? entry[user]! }));
}

/** A link to the user with an id; undefined: the id is another text, or the caller may not read the user. */
async function userLink(id: string, { site, names }: PageOptions): Promise<Part> {
  await readActors(names, [id]);
  const [name, owner] = [names.of(id), ownersOf(site)];
  return name !== undefined && html`<a class="button" href="${site.prefix}/${owner!.name}/${id}">${name}</a>`;
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

function modelOf(kind: Kind, page: KindPage, resources: readonly Resource[]): FormModel {
  const { path, singular, secret } = kind;
  const { columns, inputs, user = '' } = page;
  const owner = resources.find((resource) => resource.owner);
  const schema = kind.input(resources.map(({ name }) => name));
  const added = Object.entries(inputs(knownScopes(resources))).map(([name, keywords]) => [
    name,
    {
      ...schema.properties[name],
      ...keywords,
      ...(name === user && owner && { 'x-references': owner.name, 'x-open': true }),
    },
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
