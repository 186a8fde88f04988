import { randomUUID } from 'node:crypto';
import type { Failure } from '../../errors/problem.js';
import { type Html, html, type Part } from '../../formats/html.js';
import { charactersLeft, type JsonObject } from '../../json.js';
import {
  digestOf,
  type FormField,
  type FormRules,
  fieldTexts,
  fieldValue,
  formFields,
  holderOf,
  OBJECT,
  OTHER,
  othersOf,
  pointerTo,
  type Texts,
  textsOf,
} from './form-fields.js';
import { type Filled, failuresOf, idOf, inputsOf, openForm } from './form-html.js';
import type { FormModel } from './form-model.js';
import { wordsOf } from './labels.js';
import type { PageContent, PageContext } from './layout.js';
import type { Names } from './names.js';
import { isOpen } from './navigation.js';
import type { PageOptions } from './pages.js';
import { offersFor } from './reference-input.js';
import { digestsIn } from './submitted-form.js';

/** Fields without a rule that a form shows. A larger record is for programs. */
const MAX_OTHERS = 100;
/** Characters of all values that a form shows. */
const MAX_FORM_CHARACTERS = 65_536;

/** The fields for a record: without those that have no rule, if they are too many, and without values that are too long. */
function fieldsFor(record: JsonObject, rules: FormRules): FormField[] {
  const others = othersOf(record, rules);
  let left = MAX_FORM_CHARACTERS;
  return formFields(rules).filter((field) => {
    if (field.schema['x-button'] !== undefined) return false;
    const isOther = field.kind === 'others';
    const rest = charactersLeft(isOther ? record : fieldValue(record, field), left);
    if (rest >= 0 && !isOther) left = rest;
    return rest >= 0 && (!isOther || others.length <= MAX_OTHERS);
  });
}

/** A form of a page: for the first time, or again with what was entered. */
interface ShownForm {
  readonly fields: readonly FormField[];
  readonly texts: Texts;
  /** The state of the record that the form changes; absent: it creates one. */
  readonly state?: FormState | undefined;
  /** That record; undefined after the end of a session. */
  readonly record?: JsonObject | undefined;
  readonly failures?: readonly Failure[] | undefined;
  readonly named?: Filled['named'];
  readonly notice?: Part;
}

/** The page with a form. The key of one that creates a record makes it once, however often the form is submitted. */
export async function formPage(
  model: FormModel,
  context: PageContext,
  { fields, texts, state, record, failures, named, notice }: ShownForm,
): Promise<PageContent> {
  const { site, request, forms, names } = context;
  const action = site.prefix + request.path;
  const word = wordsOf(model.singular);
  const title = record ? model.titleOf(record, names) : word;
  const crumbs = state && !record ? [] : await model.crumbs(context, record);
  // No page contains a password that was entered.
  const secrets = fields.filter(({ kind }) => kind === 'secret').map(({ name }) => name);
  const filled: Filled = {
    id: state ? 'edit' : 'new',
    texts: new Map([...texts].filter(([name]) => !secrets.includes(name))),
    offers: await offersFor(site, request, fields),
    ...(failures && { failures }),
    ...(named && { named }),
  };
  const was = digestsIn(state?._was ?? '');
  // A browser submits no form without its required fields, and access rules may hide values of a record.
  const inputs = fields.map((field) => ({
    ...field,
    isRequired: field.isRequired && was[field.name] !== digestOf(),
  }));
  return {
    title: `${state ? 'Edit' : 'New'} ${title}`,
    crumbs: state ? [...crumbs, { text: title, href: action }] : crumbs,
    body: html`${openForm(action, forms, state ? { _method: 'PATCH', ...state } : { _key: randomUUID() }, 'edit')}${notice}${faultsOf(fields, filled)}${inputsOf(inputs, filled)}
<p><button class="main">${state ? 'Save' : `Create ${word}`}</button> <a href="${action}">Cancel</a></p></form>`,
  };
}

/** The parameter of the page of a new record that fills a field. */
export const fillOf = (...path: readonly string[]): string => `_${pointerTo(path)}`;

/** The page with the form that creates a record, with the values of its address and each default of the declaration. */
export async function newRecordPage(model: FormModel, shown: PageContext): Promise<PageContent> {
  const { names, request } = shown;
  const fields = formFields(model.creation(request));
  const texts = new Map<string, readonly string[]>();
  for (const field of fields) {
    const given = request.query.parameters.get(`_${field.name}`) ?? undefined;
    if (given !== undefined && field.to !== undefined) await names.read(field.to, [given]);
    texts.set(field.name, fieldTexts(field, given ?? field.schema.default, names));
  }
  const setsOwn = model.resource?.owner && isOpen(shown.site, '/forgotten-password', request);
  const notice =
    setsOwn &&
    html`<p class="hint">Without a password, the person chooses one by “Forgotten password?” at the sign-in.</p>`;
  return formPage(model, shown, { fields, texts, notice });
}

/** The parts of the page of a record that differ. */
interface RecordParts {
  readonly mayEdit: boolean;
  readonly mayDelete: boolean;
  /** The further effects of a deletion. */
  readonly effects?: () => Promise<Part>;
  readonly content: () => Promise<Pick<PageContent, 'tools' | 'body'>>;
}

/** The page of a record with buttons for its forms, or the form that the address means. */
export async function recordContent(
  model: FormModel,
  shown: PageOptions,
  { mayEdit, mayDelete, effects, content }: RecordParts,
): Promise<PageContent> {
  const { site, request, json, forms, names } = shown;
  const { singular, change, removal: verb = 'Delete' } = model;
  const given = request.query.parameters;
  const href = site.prefix + request.path;
  const title = model.titleOf(json, names);
  const above = await model.crumbs(shown, json);
  if (given.has('_edit') && mayEdit) {
    const fields = fieldsFor(json, change);
    const texts = textsOf(json, fields, change, names);
    const state = stateOf(json, fields, change, names);
    return formPage(model, shown, { fields, texts, state, record: json });
  }
  if (given.has('_delete') && mayDelete) {
    const body = deletionForm(href, singular, json, forms, { verb, effects: await effects?.() });
    return { title: `${verb} ${title}`, crumbs: [...above, { text: title, href }], body };
  }
  const { tools, body } = await content();
  const edit = mayEdit && html`<a class="button main" href="${href}?_edit">Edit</a>`;
  const remove = mayDelete && html`<a class="button danger" href="${href}?_delete">${verb}…</a>`;
  return { title, crumbs: above, tools: html`${tools}${edit}${remove}`, body, query: '' };
}

/** The fields by which a form recognizes changes of its record: the ETag of this, and what the form showed. */
export type FormState = Readonly<{
  _etag: string;
  /** Digests of the texts by field, `OBJECT` for each object with fields, and `OTHER` for each field without a rule, as JSON. */
  _was: string;
}>;

export function stateOf(
  record: JsonObject,
  fields: readonly FormField[],
  rules: FormRules,
  names: Names,
): FormState {
  const texts = textsOf(record, fields, rules, names);
  const was = Object.fromEntries(fields.map(({ name }) => [name, digestOf(texts.get(name))]));
  for (const { parents } of fields)
    for (const path of parents.map((_, at) => parents.slice(0, at + 1)))
      if (holderOf(record, path)) was[pointerTo(path)] = OBJECT;
  for (const name of othersOf(record, rules)) was[pointerTo([name])] = OTHER;
  return { _etag: etagOf(record), _was: JSON.stringify(was) };
}

const etagOf = ({ _version }: JsonObject): string => `"${String(_version)}"`;

/** The form that deletes a record. `effects`: what else the deletion does. */
export function deletionForm(
  action: string,
  singular: string,
  record: JsonObject,
  forms: PageContext['forms'],
  { effects, verb = 'Delete' }: { readonly effects?: Part; readonly verb?: string } = {},
): Html {
  const word = wordsOf(singular);
  return html`${openForm(action, forms, { _method: 'DELETE', _etag: etagOf(record) })}${effects}<p>A ${verb.toLowerCase()}d ${word} cannot be restored.</p>
<p><button class="danger">${verb} this ${word}</button> <a href="${action}">Cancel</a></p></form>`;
}

/** The faults of a form, with links to its fields. */
function faultsOf(fields: readonly FormField[], filled: Filled): Part {
  const { failures = [] } = filled;
  if (failures.length === 0) return undefined;
  const named = fields.filter((field) => failuresOf(field, filled).length > 0);
  const known = new Set(named.flatMap((field) => failuresOf(field, filled)));
  const others = failures.filter(({ message }) => ![...known].some((text) => text.endsWith(message)));
  const count = named.length + others.length;
  return html`<div class="error" role="alert"><p>Not saved yet: ${count === 1 ? 'one field needs' : `${count} fields need`} you.</p>
<ul>${named.map((field) => html`<li><a href="#${idOf(field, filled)}">${field.label}</a>: ${failuresOf(field, filled).join('; ')}</li>`)}${others.map(({ path, message }) => html`<li>${path} ${message}</li>`)}</ul></div>`;
}
