import { cut, type Html, html } from '../../formats/html.js';
import type { JsonObject } from '../../json.js';
import { type FormField, formFields, type Texts, textsOf } from './form-fields.js';
import { idOf, inputOf } from './form-html.js';
import { crumbsOf, type FormModel } from './form-model.js';
import type { PageContent } from './layout.js';
import { recordTable } from './list-table.js';
import { deletionForm, etagOf, hidden, stateFields, stateOf } from './record-forms.js';
import type { Submitted } from './submitted-form.js';

/** Characters of a stored value that the page shows. */
const MAX_STORED = 16_384;

/** The page after a record was changed by another request while a form was open: what is stored beside what was entered. */
export function conflictPage(editable: FormModel, current: JsonObject, submitted: Submitted): PageContent {
  const { site, request, method } = submitted;
  const action = site.prefix + request.path;
  return {
    title: `${editable.titleOf(current)} has changed`,
    crumbs: [
      ...crumbsOf(site, editable.name),
      { text: editable.titleOf(current), href: action },
      { text: 'conflict' },
    ],
    body: html`<p class="error" role="alert">Another request changed this ${editable.singular} after you opened the form. Nothing was ${method === 'DELETE' ? 'deleted' : 'saved'}.</p>
${method === 'DELETE' ? changedRecord(editable, current, submitted) : choices(editable, current, submitted)}
<p><a href="${action}">Discard what you entered</a></p>`,
  };
}

function changedRecord(editable: FormModel, current: JsonObject, { site, request, forms }: Submitted): Html {
  return html`<h2>What is stored now</h2>
${recordTable(current)}
${deletionForm(site.prefix + request.path, editable.singular, etagOf(current), forms)}`;
}

/** A form with both values of each field that was changed, and a choice between them. */
function choices(
  editable: FormModel,
  current: JsonObject,
  { site, request, entered, forms }: Submitted,
): Html {
  const rules = editable.change;
  const fields = entered.changed(formFields(rules));
  const stored = textsOf(current, fields, rules);
  const state = stateOf(current, fields, rules);
  return html`<form method="post" action="${site.prefix + request.path}">
${hidden('_method', 'PATCH')}${hidden('_token', forms.token)}${stateFields(state)}
<p>Choose a value for each field that you changed. Fields that you did not change remain as they are stored.</p>
${fields.map((field) => choiceOf(field, stored, entered.texts))}
<button class="main">Save the chosen values</button>
</form>`;
}

function choiceOf(field: FormField, stored: Texts, entered: Texts): Html {
  const filled = { id: 'mine', texts: entered };
  const name = `_use ${field.name}`;
  const text = stored.get(field.name)?.join(', ') ?? '';
  const id = idOf(field, { id: 'use', texts: entered });
  return html`<fieldset><legend>${field.label}</legend><div class="sides">
<div><label class="check"><input type="radio" id="${id}-stored" name="${name}" value="stored"> Stored now</label>
<pre class="stored">${text === '' ? '(empty)' : cut(text, MAX_STORED)}</pre></div>
<div><label class="check"><input type="radio" id="${id}-entered" name="${name}" value="entered" checked> Entered by you</label>
${inputOf(field, filled)}</div>
</div></fieldset>\n`;
}
