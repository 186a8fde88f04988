import { randomUUID } from 'node:crypto';
import { type Html, html, type Part } from '../../formats/html.js';
import { charactersLeft, type JsonObject } from '../../json.js';
import { effectsOf } from './deletion-effects.js';
import { digestOf, type FormField, fieldTexts, fieldValue, isAt, pointerTo, textsOf } from './form-fields.js';
import { type Filled, faultText, idOf, inputsOf, openForm } from './form-html.js';
import type { FormModel } from './form-model.js';
import { wordsOf } from './labels.js';
import type { PageContent, PageContext } from './layout.js';
import type { PageOptions } from './pages.js';
import { offersFor } from './reference-input.js';

/** Characters of all values that a form shows, so that the body of its request is within the limit. */
const MAX_FORM_CHARACTERS = 65_536;

/** A form of a page: for the first time, or again with what was entered. */
interface ShownForm extends Pick<Filled, 'texts' | 'failures' | 'named'> {
  readonly fields: readonly FormField[];
  /** The state of the record that the form changes; absent: it creates one. */
  readonly state?: Readonly<ReturnType<typeof stateOf>>;
  /** That record; undefined after the end of a session. */
  readonly record?: JsonObject | undefined;
  readonly notice?: Part;
  /** The key of the form before, which has created nothing; absent or empty: another one. */
  readonly key?: string | undefined;
  /** The inputs, if they are others than one for each field. */
  readonly inputs?: Html;
}

/** The page with a form. The key of one that creates a record makes it once, however often the form is submitted. */
export async function formPage(
  model: FormModel,
  context: PageContext,
  shown: ShownForm,
): Promise<PageContent> {
  const { site, request, forms, names } = context;
  const { fields, state, record } = shown;
  const action = site.prefix + request.path;
  const word = wordsOf(model.singular);
  const title = record ? model.titleOf(record, names) : word;
  const crumbs = state && !record ? [] : await model.crumbs(context, record);
  const offers = await offersFor(site, request, fields);
  const filled: Filled = { ...shown, offers, id: state ? 'edit' : 'new' };
  const own = state
    ? { _method: 'PATCH', _etag: state.etag, _was: JSON.stringify(state.was) }
    : { _key: shown.key || randomUUID() };
  return {
    title: `${state ? 'Edit' : 'New'} ${title}`,
    crumbs: state ? [...crumbs, { text: title, href: action }] : crumbs,
    body: html`${openForm(action, forms, own, 'edit')}${shown.notice}${faultsOf(fields, filled)}${shown.inputs ?? inputsOf(fields, filled)}
<p><button class="main">${state ? 'Save' : `Create ${word}`}</button> <a href="${action}">Cancel</a></p></form>`,
  };
}

/** The parameter of the page of a new record that fills a field. */
export const fillOf = (...path: readonly string[]): string => `_${pointerTo(path)}`;

/** The page with the form that creates a record, with the values of its address and each default of the declaration. */
export async function newRecordPage(model: FormModel, shown: PageContext): Promise<PageContent> {
  const { names, request } = shown;
  const fields = model.fields(request, 'create');
  const texts = new Map<string, readonly string[]>();
  for (const field of fields) {
    const given = request.query.parameters.get(`_${field.name}`) ?? undefined;
    if (given !== undefined && field.to !== undefined) await names.read(field.to, [given]);
    texts.set(field.name, fieldTexts(field, given ?? field.schema.default, names));
  }
  return formPage(model, shown, { fields, texts });
}

/** The page of a record with buttons for its forms, or the form that the address means. */
export async function recordContent(
  model: FormModel,
  shown: PageOptions,
  content: () => Promise<Pick<PageContent, 'tools' | 'body'>>,
): Promise<PageContent> {
  const { site, request, json, names, may } = shown;
  const given = request.query.parameters;
  if (given.has('_edit') && may('PATCH')) {
    let left = MAX_FORM_CHARACTERS;
    const fields = model.fields(request, 'update').filter((field) => {
      const rest = charactersLeft(fieldValue(json, field), left);
      if (rest >= 0) left = rest;
      return rest >= 0 && !field.schema['x-button'];
    });
    const texts = textsOf(json, fields, names);
    return formPage(model, shown, { fields, texts, state: stateOf(json, texts), record: json });
  }
  if (given.has('_delete') && may('DELETE')) return deletionPage(model, shown, json);
  const href = site.prefix + request.path;
  const { tools, body } = await content();
  const edit = may('PATCH') && html`<a class="button main" href="${href}?_edit">Edit</a>`;
  const remove = may('DELETE') && html`<a class="button danger" href="${href}?_delete">${model.removal}…</a>`;
  return {
    title: model.titleOf(json, names),
    crumbs: await model.crumbs(shown, json),
    tools: html`${tools}${edit}${remove}`,
    body,
  };
}

/** The state by which a form recognizes changes of its record: the ETag of this, and digests of what the form showed. */
export const stateOf = (record: JsonObject, shown: Filled['texts']) => ({
  etag: etagOf(record),
  was: Object.fromEntries([...shown].map(([name, texts]) => [name, digestOf(texts)])),
});

const etagOf = ({ _version }: JsonObject): string => `"${String(_version)}"`;

/** The page that deletes a record. `notice`: why it was refused before. */
export async function deletionPage(
  model: FormModel,
  context: PageContext,
  record: JsonObject,
  notice?: Part,
): Promise<PageContent> {
  const { site, request, forms, names } = context;
  const { singular, removal: verb, resource } = model;
  const effects = resource && (await effectsOf(resource, [String(record.id)], context));
  const href = site.prefix + request.path;
  const word = wordsOf(singular);
  const title = model.titleOf(record, names);
  return {
    title: `${verb} ${title}`,
    crumbs: [...(await model.crumbs(context, record)), { text: title, href }],
    body: html`${openForm(href, forms, { _method: 'DELETE', _etag: etagOf(record) })}${notice}${effects}<p>A ${verb.toLowerCase()}d ${word} cannot be restored.</p>
<p><button class="danger">${verb} this ${word}</button> <a href="${href}">Cancel</a></p></form>`,
  };
}

/** The faults of a form, with links to its fields. */
function faultsOf(fields: readonly FormField[], filled: Filled): Part {
  const { failures = [] } = filled;
  const faults = failures.map((each) => {
    const field = fields.find((own) => isAt(own, each.path));
    if (!field) return html`<li>${each.path} ${each.message}</li>`;
    return html`<li><a href="#${idOf(field, filled)}">${field.label}</a>: ${faultText(field, each)}</li>`;
  });
  return (
    faults.length > 0 && html`<div class="error" role="alert"><p>Not saved yet:</p>\n<ul>${faults}</ul></div>`
  );
}
