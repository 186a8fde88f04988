import type { Kind, KindPage } from '../../api/kind.js';
import { knownScopes } from '../../auth/user-scopes.js';
import type { Resource } from '../../collection/resource.js';
import { type Html, html, type Part } from '../../formats/html.js';
import type { JsonObject } from '../../json.js';
import { actorHtml, readActors } from './change-author.js';
import { pagesNav } from './collection-page.js';
import type { PageForm } from './form-action.js';
import { formFields } from './form-fields.js';
import { openForm } from './form-html.js';
import type { FormModel } from './form-model.js';
import { assignmentsOf } from './form-patch.js';
import type { FormTokens } from './form-token.js';
import { capitalized } from './labels.js';
import type { Crumb } from './layout.js';
import { entriesTable, facts } from './list-table.js';
import { SERVICE } from './navigation.js';
import type { Page, PageOptions } from './pages.js';
import { changeAction, creationAction } from './record-form-actions.js';
import { newRecordPage, recordContent } from './record-forms.js';
import { ownersOf, type Site } from './site.js';
import { valueHtml } from './values.js';

/** The pages that create, list, change and delete managed resources. */
export function managedPages(kind: Kind, resources: readonly Resource[]): [path: string, page: Page][] {
  const { path, singular, canChange, page } = kind;
  if (!page) return [];
  const model = modelOf(kind, page, resources);
  const { columns, user, links = {}, buttons = {} } = page;
  const list: Page = {
    content: async (shown) => {
      const { site, request, json } = shown;
      const href = site.prefix + path;
      if (request.query.parameters.has('_new')) return newRecordPage(model, shown);
      const { data, links } = json as {
        data: JsonObject[];
        links: Record<string, string | null>;
      } & JsonObject;
      if (user !== undefined)
        await readActors(
          shown.names,
          data.map((entry) => String(entry[user])),
        );
      return {
        title: headingOf(kind),
        tools: shown.may('POST') && html`<a class="button main" href="${href}?_new">New ${singular}</a>`,
        body: html`${entriesTable(
          data,
          columns,
          ({ id }) => `${href}/${String(id)}`,
          (entry, name) =>
            name === user ? actorHtml(shown.names, String(entry[name])) : valueHtml(entry[name]),
        )}\n${pagesNav(links)}`,
      };
    },
    form: creationAction(model),
  };
  const one: Page = {
    content: async (shown) => {
      const { site, json, forms, may } = shown;
      const self = `${site.prefix}${path}/${String(json.id)}`;
      return recordContent(model, shown, {
        mayEdit: canChange === true && may('PATCH'),
        mayDelete: may('DELETE'),
        verb: page.removal,
        content: async () => {
          const more = Object.entries(links).map(
            ([name, text]) => html`<p><a href="${self}/${name}">${text}</a></p>\n`,
          );
          const others =
            may('PATCH') &&
            Object.entries(buttons).map(([name, label]) => button(`${self}/${name}`, label, forms));
          const setting = formFields(model.change).map(
            ({ name, schema: { 'x-button': label, const: value } }) =>
              label !== undefined &&
              canChange &&
              may('PATCH') &&
              button(self, label, forms, { _method: 'PATCH', [name]: JSON.stringify(value) }),
          );
          return {
            tools: html`${setting}${others}${user !== undefined && (await userLink(String(json[user]), shown))}`,
            body: html`${facts(json)}\n${more}`,
          };
        },
      });
    },
    form: changeAction(model),
  };
  return [
    [path, list],
    [`${path}/:id`, one],
  ];
}

const headingOf = ({ path, many }: Kind): string =>
  SERVICE.find(([each]) => each === path)?.[1] ?? capitalized(many);

/** The list of things, above the pages of each. */
const crumbsOf = ({ prefix }: Site, kind: Kind): Crumb[] => [
  { text: headingOf(kind), href: prefix + kind.path },
];

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
export const button = (action: string, label: string, forms: FormTokens, own = {}): Html =>
  html`${openForm(action, forms, own)}<button>${label}</button></form>`;

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
    ...{ name: path.slice(1), singular },
    creation: () => rules,
    change: rules,
    titleOf: (record) => String(record[columns[0]!]),
    crumbs: async ({ site }) => crumbsOf(site, kind),
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
function secretPage(site: Site, kind: Kind, id: string, secret: string) {
  const { path, secret: name = '' } = kind;
  return {
    title: `The new ${name}`,
    crumbs: crumbsOf(site, kind),
    body: html`<p class="note" role="status">Copy the ${name} now: it is shown only once.</p>
<p><code class="secret">${secret}</code></p>
<p><a class="button" href="${site.prefix}${path}/${id}">Continue</a></p>`,
  };
}
