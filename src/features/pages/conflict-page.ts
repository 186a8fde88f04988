import { cut, type Html, html } from '../../formats/html.js';
import type { JsonObject } from '../../json.js';
import { actorHtml, changesOf } from './change-author.js';
import { digestOf, type FormField, type Texts, textsOf } from './form-fields.js';
import { boxOf, inputOf, inputsOf } from './form-html.js';
import type { FormModel } from './form-model.js';
import type { PageContent } from './layout.js';
import { pairs } from './list-table.js';
import { deletionPage, formPage, stateOf } from './record-forms.js';
import { MAX_NAMES, type Submitted, type SubmittedForm } from './submitted-form.js';
import { MAX_LONG, timeHtml } from './values.js';

/**
 * The form after its record was changed by another request: who has changed it, and a choice between both values of each field
 * that both have changed. Fields that only one has changed need no choice: the other's are listed, and the caller's are folded.
 */
export async function conflictPage(
  model: FormModel,
  current: JsonObject,
  submitted: Submitted,
): Promise<PageContent> {
  const { request, method, entered, names } = submitted;
  if (model.resource) await names.readFor(model.resource, [current], MAX_NAMES);
  // Undefined: the caller may not know who it was, or the event is not final.
  const changes = model.resource ? await changesOf(model.resource, submitted) : [];
  const author = changes.find(({ version }) => version === current._version)?.actor;
  const when = typeof current.updated_at === 'string' && [', ', timeHtml(current.updated_at)];
  const notice = html`<p class="error" role="alert">${actorHtml(names, author) ?? 'Another request'} changed this ${model.singular}${author === request.principal.subject && ' in another window'} after you opened the form${when}. Nothing was ${method === 'DELETE' ? 'deleted' : 'saved'}.</p>`;
  if (method === 'DELETE') return deletionPage(model, submitted, current, notice);
  const { texts, was, named } = entered;
  const all = model.fields(request, 'update');
  const stored = textsOf(current, all, names);
  const fields = entered.changed(all);
  const isStored = ({ name }: FormField) => digestOf(stored.get(name)) === (was[name] ?? digestOf());
  const [both, mine] = [fields.filter((field) => !isStored(field)), fields.filter(isStored)];
  const others = all.filter((field) => field.name in was && !isStored(field) && !fields.includes(field));
  const inputs = html`${both.length > 0 && html`<p>Both changes have these fields: yours are saved, unless you choose the other ones.</p>`}${both.map((field) => choiceOf(field, stored, entered))}
${mine.length > 0 && html`<details><summary>Only you changed ${mine.map(({ label }) => label).join(', ')}</summary><div>${inputsOf(mine, { id: 'edit', texts, named })}</div></details>`}
${others.length > 0 && html`<h2>Also changed meanwhile</h2>${pairs(others.map((field) => [field.label, shownText(field, stored)]))}`}`;
  const state = stateOf(current, textsOf(current, fields, names));
  return formPage(model, submitted, { fields, texts, state, record: current, notice, inputs });
}

const shownText = ({ name }: FormField, texts: Texts): string =>
  cut(texts.get(name)?.join(', ') || '(empty)', MAX_LONG);

const choiceOf = (field: FormField, stored: Texts, { texts, named }: SubmittedForm): Html =>
  html`<fieldset><legend>${field.label}</legend><div class="sides">
<div>${boxOf(`_use ${field.name}`, 'stored', 'Stored now: use this', false)}<pre class="stored">${shownText(field, stored)}</pre></div>
<div>${inputOf(field, { id: 'edit', texts, named })}</div>
</div></fieldset>\n`;
