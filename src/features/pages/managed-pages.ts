import type { Kind } from '../../api/kind.js';
import { knownScopes } from '../../auth/user-scopes.js';
import type { Resource } from '../../collection/resource.js';
import { html } from '../../formats/html.js';
import { actorHtml, readActors } from './change-author.js';
import { formFields } from './form-fields.js';
import { button } from './form-html.js';
import type { FormModel } from './form-model.js';
import { facts } from './list-table.js';
import type { Page, PageOptions } from './pages.js';
import { recordForm } from './record-form-actions.js';
import { newRecordPage, recordContent } from './record-forms.js';
import { crumbsAbove, thingsPage } from './service-pages.js';

/** The pages that create, list, change and delete managed resources, and the form that creates another secret. */
export function managedPages(kind: Kind, resources: readonly Resource[]): Readonly<Record<string, Page>> {
  const { path, singular, page } = kind;
  const { columns, user, links = {}, buttons = {} } = page;
  const model = modelOf(kind, resources);
  const list = thingsPage(columns, singular, user);
  const form = recordForm(model);
  const one = (shown: PageOptions) => {
    const { site, request, json, forms, may, names } = shown;
    const self = `${site.prefix}${path}/${String(json.id)}`;
    return recordContent(model, shown, async () => {
      const subject = user === undefined ? undefined : json[user];
      await readActors(names, [subject]);
      const shownAs = { [user ?? '']: actorHtml(names, subject) };
      const fields = model.fields(request, 'update');
      const setting = fields.map(
        ({ name, schema: { 'x-button': label, const: value } }) =>
          label !== undefined &&
          button(self, label, forms, { _method: 'PATCH', [name]: JSON.stringify(value) }),
      );
      const others = Object.entries(buttons).map(([name, label]) => button(`${self}/${name}`, label, forms));
      const more = Object.entries(links).map(
        ([name, text]) => html`<p><a href="${self}/${name}">${text}</a></p>\n`,
      );
      return {
        tools: html`${may('PATCH') && [setting, others]}`,
        body: html`${facts(json, shownAs)}\n${more}`,
      };
    });
  };
  return {
    [path]: {
      content: (shown) =>
        shown.request.query.parameters.has('_new') ? newRecordPage(model, shown) : list.content!(shown),
      form,
    },
    [`${path}/:id`]: { content: one, form },
    [`${path}/:id/rotate`]: { form: { next: form.next } },
  };
}

function modelOf(kind: Kind, resources: readonly Resource[]): FormModel {
  const { path, singular, secret } = kind;
  const { columns, inputs, user = '', removal = 'Delete' } = kind.page;
  const owner = resources.find((resource) => resource.owner);
  const schema = kind.input(resources.map(({ name }) => name));
  const added = Object.entries(inputs(knownScopes(resources))).map(([name, keywords]) => {
    const reference = name === user && owner && { 'x-references': owner.name, 'x-open': true };
    return [name, { ...schema.properties[name], ...keywords, ...reference }];
  });
  const properties = { ...schema.properties, ...Object.fromEntries(added) } as Record<string, object>;
  const fields = formFields({ ...schema, properties });
  return {
    ...{ name: path.slice(1), singular, removal },
    fields: () => fields,
    titleOf: (record) => String(record[columns[0]!]),
    crumbs: async ({ site }) => crumbsAbove(site, `${path}/:id`),
    secretPage: ({ id, [secret ?? '']: shown }, { site }) => {
      const href = `${site.prefix}${path}/${String(id)}`;
      if (typeof shown !== 'string') return undefined;
      return {
        title: `The new ${secret}`,
        crumbs: crumbsAbove(site, `${path}/:id`),
        body: html`<p class="note" role="status">Copy the ${secret} now: it is shown only once.</p>
<p><code class="secret">${shown}</code></p>
<p><a class="button" href="${href}">Continue</a></p>`,
      };
    },
  };
}
