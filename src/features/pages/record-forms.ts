import { type Html, html, type Part } from '../../formats/html.js';
import { charactersLeft, type JsonObject, member } from '../../json.js';
import {
  digestOf,
  type FormField,
  type FormRules,
  formFields,
  othersOf,
  type Texts,
  textsOf,
} from './form-fields.js';
import { type Filled, failuresOf, idOf, inputsOf } from './form-html.js';
import type { FormModel } from './form-model.js';
import type { FormTokens } from './form-token.js';
import type { PageOptions } from './pages.js';
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
  return formFields(rules).filter(({ kind, member: name }) => {
    if (kind === 'others') return !isLarge;
    const rest = charactersLeft(member(record, name), left);
    if (rest >= 0) left = rest;
    return rest >= 0;
  });
}

/** The form that creates a record, behind a button. */
export function createDetails(
  { singular, creation }: FormModel,
  { request, forms, may, site }: PageOptions,
): Part {
  if (!may('POST')) return undefined;
  const rules = creation(request);
  const filled = { id: 'new', texts: new Map() };
  return html`<details><summary>New ${singular}</summary>
${creationForm(site.prefix + request.path, formFields(rules), filled, forms)}</details>`;
}

export function creationForm(
  action: string,
  fields: readonly FormField[],
  filled: Filled,
  forms: FormTokens,
): Html {
  return html`<form class="edit" method="post" action="${action}">
${hidden('_token', forms.token)}
${faultsOf(fields, filled)}${inputsOf(fields, filled)}
<button class="main">Create</button>
</form>`;
}

/** The forms that change and delete a record, behind buttons. */
export function changeDetails({ singular, change }: FormModel, record: JsonObject, shown: PageOptions): Part {
  const { request, forms, may, site } = shown;
  const fields = fieldsFor(record, change);
  const texts = textsOf(record, fields, change);
  const action = site.prefix + request.path;
  const state = stateOf(record, fields, change);
  return html`${
    may('PATCH') &&
    html`<details><summary>Edit</summary>
${changeForm(action, fields, { id: 'edit', texts: visible(fields, texts) }, state, forms)}</details>`
  }
${deletionDetails('Delete', { singular }, record, shown)}`;
}

/** The form that deletes a record, behind a button. */
export function deletionDetails(
  verb: string,
  { singular }: Pick<FormModel, 'singular'>,
  record: JsonObject,
  { request, forms, may, site }: PageOptions,
): Part {
  return (
    may('DELETE') &&
    html`<details><summary>${verb}</summary>
${deletionForm(site.prefix + request.path, singular, etagOf(record), forms)}</details>`
  );
}

/** The record that a form changes: its ETag, and what the form showed of it. */
export interface FormState {
  readonly etag: string;
  /** Digests of the texts by field, as JSON. */
  readonly was: string;
  /** The names of its fields without a rule, as JSON. */
  readonly others: string;
}

export function stateOf(record: JsonObject, fields: readonly FormField[], rules: FormRules): FormState {
  const texts = textsOf(record, fields, rules);
  const was = Object.fromEntries(fields.map(({ name }) => [name, digestOf(texts.get(name))]));
  return { etag: etagOf(record), was: JSON.stringify(was), others: JSON.stringify(othersOf(record, rules)) };
}

export const etagOf = ({ _version }: JsonObject): string => `"${String(_version)}"`;

/** No page contains a password that was entered. */
function visible(fields: readonly FormField[], texts: Texts): Texts {
  const secrets = fields.filter(({ kind }) => kind === 'secret').map(({ name }) => name);
  return new Map([...texts].filter(([name]) => !secrets.includes(name)));
}

export function changeForm(
  action: string,
  fields: readonly FormField[],
  filled: Filled,
  state: FormState,
  forms: FormTokens,
): Html {
  const was = digestsIn(state.was);
  // A browser submits no form without its required fields, and access rules may hide values of a record.
  const inputs = fields.map((field) => ({
    ...field,
    isRequired: field.isRequired && was[field.name] !== digestOf(),
  }));
  return html`<form class="edit" method="post" action="${action}">
${hidden('_method', 'PATCH')}${hidden('_token', forms.token)}${stateFields(state)}
${faultsOf(fields, filled)}${inputsOf(inputs, filled)}
<button class="main">Save</button>
</form>`;
}

/** Hidden inputs by which changes of the record and of its fields are recognized. */
export function stateFields({ etag, was, others }: FormState): Html {
  return html`${hidden('_etag', etag)}${hidden('_was', was)}${hidden('_others', others)}`;
}

export function deletionForm(action: string, singular: string, etag: string, forms: FormTokens): Html {
  return html`<form method="post" action="${action}">
${hidden('_method', 'DELETE')}${hidden('_token', forms.token)}${hidden('_etag', etag)}
<p>A deleted ${singular} cannot be restored.</p>
<button class="danger">Delete this ${singular}</button>
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
  return html`<div class="error" role="alert"><p>This was not saved:</p>
<ul>${named.map((field) => html`<li><a href="#${idOf(field, filled)}">${field.label}</a>: ${failuresOf(field, filled).join('; ')}</li>`)}${others.map(({ path, message }) => html`<li>${path} ${message}</li>`)}</ul></div>`;
}
