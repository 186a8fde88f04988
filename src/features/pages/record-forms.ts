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
  othersOf,
  pointerTo,
  type RecordNames,
  type Texts,
  textsOf,
} from './form-fields.js';
import { type Filled, failuresOf, idOf, inputsOf } from './form-html.js';
import type { FormModel } from './form-model.js';
import type { FormTokens } from './form-token.js';
import { wordsOf } from './labels.js';
import type { Crumb, PageContent } from './layout.js';
import type { PageOptions } from './pages.js';
import { offersFor } from './reference-input.js';
import { digestsIn } from './submitted-form.js';

/** Fields without a rule that a form shows, and characters of their JSON. A larger record is for programs. */
const MAX_OTHERS = 100;
const MAX_OTHERS_CHARACTERS = 16_384;
/** Characters of all values that a form shows. */
const MAX_FORM_CHARACTERS = 65_536;

/** The fields for a record: without those that have no rule, if they are too many, and without values that are too long. */
function fieldsFor(record: JsonObject, rules: FormRules): FormField[] {
  const others = othersOf(record, rules);
  const isLarge = others.length > MAX_OTHERS || charactersLeft(record, MAX_OTHERS_CHARACTERS) < 0;
  let left = MAX_FORM_CHARACTERS;
  return formFields(rules).filter((field) => {
    if (field.kind === 'others') return !isLarge;
    const rest = charactersLeft(fieldValue(record, field), left);
    if (rest >= 0) left = rest;
    return rest >= 0;
  });
}

/** A form of a page: for the first time, or again with what was entered. */
interface ShownForm {
  readonly singular: string;
  readonly fields: readonly FormField[];
  readonly texts: Texts;
  /** The record that the form changes; absent: it creates one. */
  readonly state?: FormState | undefined;
  readonly failures?: readonly Failure[] | undefined;
  readonly named?: Filled['named'];
  readonly notice?: Part;
}

/** The page with a form. The key of one that creates a record makes it once, however often the form is submitted. */
export async function formPage(
  title: string,
  crumbs: readonly Crumb[],
  { site, request, forms }: Pick<PageOptions, 'site' | 'request' | 'forms'>,
  { singular, fields, texts, state, failures, named, notice }: ShownForm,
): Promise<PageContent> {
  const action = site.prefix + request.path;
  // No page contains a password that was entered.
  const secrets = fields.filter(({ kind }) => kind === 'secret').map(({ name }) => name);
  const filled: Filled = {
    id: state ? 'edit' : 'new',
    texts: new Map([...texts].filter(([name]) => !secrets.includes(name))),
    offers: await offersFor(site, request, fields),
    ...(failures && { failures }),
    ...(named && { named }),
  };
  const was = digestsIn(state?.was ?? '');
  // A browser submits no form without its required fields, and access rules may hide values of a record.
  const inputs = fields.map((field) => ({
    ...field,
    isRequired: field.isRequired && was[field.name] !== digestOf(),
  }));
  return {
    title,
    crumbs,
    body: html`<form class="edit" method="post" action="${action}">
${state ? html`${hidden('_method', 'PATCH')}${stateFields(state)}` : hidden('_key', randomUUID())}${hidden('_token', forms.token)}
${notice}${faultsOf(fields, filled)}${inputsOf(inputs, filled)}
<p><button class="main">${state ? 'Save' : `Create ${wordsOf(singular)}`}</button> <a href="${action}">Cancel</a></p>
</form>`,
  };
}

/** The page with the form that creates a record, with each default of the declaration. */
export function newRecordPage(
  { singular, creation }: FormModel,
  shown: PageOptions,
  crumbs: readonly Crumb[],
): Promise<PageContent> {
  const fields = formFields(creation(shown.request));
  const texts = new Map(fields.map((field) => [field.name, fieldTexts(field, field.schema.default)]));
  return formPage(`New ${wordsOf(singular)}`, crumbs, shown, { singular, fields, texts });
}

/** The page with the form that changes a record. */
export function editPage(
  { singular, change, titleOf }: FormModel,
  record: JsonObject,
  shown: PageOptions,
  crumbs: readonly Crumb[],
): Promise<PageContent> {
  const { names } = shown;
  const fields = fieldsFor(record, change);
  const texts = textsOf(record, fields, change, names);
  const state = stateOf(record, fields, change, names);
  return formPage(`Edit ${titleOf(record, names)}`, crumbs, shown, { singular, fields, texts, state });
}

/** The record that a form changes: its ETag, and what the form showed of it. */
export interface FormState {
  readonly etag: string;
  /** Digests of the texts by field, and an empty text for each object that the record has, as JSON. */
  readonly was: string;
  /** The names of its fields without a rule, as JSON. */
  readonly others: string;
}

export function stateOf(
  record: JsonObject,
  fields: readonly FormField[],
  rules: FormRules,
  names?: RecordNames,
): FormState {
  const texts = textsOf(record, fields, rules, names);
  const was = Object.fromEntries(fields.map(({ name }) => [name, digestOf(texts.get(name))]));
  for (const { parents } of fields)
    for (const path of parents.map((_, at) => parents.slice(0, at + 1)))
      if (holderOf(record, path)) was[pointerTo(path)] = '';
  return { etag: etagOf(record), was: JSON.stringify(was), others: JSON.stringify(othersOf(record, rules)) };
}

export const etagOf = ({ _version }: JsonObject): string => `"${String(_version)}"`;

/** Hidden inputs by which changes of the record and of its fields are recognized. */
export function stateFields({ etag, was, others }: FormState): Html {
  return html`${hidden('_etag', etag)}${hidden('_was', was)}${hidden('_others', others)}`;
}

/** The form that deletes a record. `effects`: what else the deletion does. */
export function deletionForm(
  action: string,
  singular: string,
  etag: string,
  forms: FormTokens,
  { effects, verb = 'Delete' }: { readonly effects?: Part; readonly verb?: string } = {},
): Html {
  const word = wordsOf(singular);
  return html`<form method="post" action="${action}">
${hidden('_method', 'DELETE')}${hidden('_token', forms.token)}${hidden('_etag', etag)}
${effects}<p>A ${verb.toLowerCase()}d ${word} cannot be restored.</p>
<p><button class="danger">${verb} this ${word}</button> <a href="${action}">Cancel</a></p>
</form>`;
}

export const hidden = (name: string, value: string): Html =>
  html`<input type="hidden" name="${name}" value="${value}">`;

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
