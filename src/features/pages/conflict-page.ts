import { newestChanges } from '../../actions/history.js';
import { cut, type Html, html } from '../../formats/html.js';
import type { JsonObject } from '../../json.js';
import { actorHtml, readActors } from './change-author.js';
import { digestOf, type FormField, formFields, type Texts, textsOf } from './form-fields.js';
import { idOf, inputOf, openForm } from './form-html.js';
import type { FormModel } from './form-model.js';
import type { PageContent } from './layout.js';
import { pairs } from './list-table.js';
import { deletionForm, stateOf } from './record-forms.js';
import { collectionOf } from './site.js';
import { digestsIn, MAX_NAMES, type Submitted } from './submitted-form.js';
import { timeHtml } from './values.js';

/** Characters of a stored value that the page shows. */
const MAX_STORED = 16_384;

/** The page after a record was changed by another request while a form was open: what is stored beside what was entered. */
export async function conflictPage(
  editable: FormModel,
  current: JsonObject,
  submitted: Submitted,
): Promise<PageContent> {
  const { site, request, method, names } = submitted;
  const action = site.prefix + request.path;
  if (editable.resource) await names.readFor(editable.resource, [current], MAX_NAMES);
  const title = editable.titleOf(current, names);
  const author = await authorOf(editable, current, submitted);
  const when = typeof current.updated_at === 'string' && [', ', timeHtml(current.updated_at)];
  return {
    title: `${title} has changed`,
    crumbs: [...(await editable.crumbs(submitted, current)), { text: title, href: action }],
    body: html`<p class="error" role="alert">${actorHtml(names, author) ?? 'Another request'} changed this ${editable.singular}${author === request.principal.subject && ' in another window'} after you opened the form${when}. Nothing was ${method === 'DELETE' ? 'deleted' : 'saved'}.</p>
${method === 'DELETE' ? deletionForm(action, editable.singular, current, submitted.forms) : choices(editable, current, submitted)}
<p><a href="${action}">${method === 'DELETE' ? 'The record as it is now' : 'Discard what you entered'}</a></p>`,
  };
}

/** The actor of the last change of a record; null: the caller may not know, or the event is not final. */
async function authorOf(
  { resource }: FormModel,
  current: JsonObject,
  { site, request, names }: Submitted,
): Promise<string | null> {
  const { feed } = site;
  const collection = collectionOf(site, resource?.name);
  if (!collection || !feed) return null;
  const changes = await newestChanges(collection, request, feed);
  const actor = changes?.find(({ version }) => version === current._version)?.actor ?? null;
  await readActors(names, [actor]);
  return actor;
}

/**
 * A form with both values of each field that both have changed, and a choice between them. Fields that only one has changed need
 * no choice: the other's are listed, and the caller's are folded.
 */
function choices(
  editable: FormModel,
  current: JsonObject,
  { site, request, entered, forms, names }: Submitted,
): Html {
  const rules = editable.change;
  const all = formFields(rules);
  const was = digestsIn(entered.own('_was'));
  const stored = textsOf(current, all, rules, names);
  const changed = entered.changed(all);
  const isStored = ({ name }: FormField) => digestOf(stored.get(name)) === (was[name] ?? digestOf());
  const [both, mine] = [changed.filter((field) => !isStored(field)), changed.filter(isStored)];
  const others = all.filter((field) => field.name in was && !isStored(field) && !changed.includes(field));
  const choice = (field: FormField) => choiceOf(field, stored, entered.texts);
  const state = stateOf(current, changed, rules, names);
  return html`${openForm(site.prefix + request.path, forms, { _method: 'PATCH', ...state })}
${both.length > 0 && html`<p>Both of you changed these fields. Choose a value for each.</p>`}
${both.map(choice)}
${mine.length > 0 && html`<details><summary>Only you changed ${labelsOf(mine)}</summary><div>${mine.map(choice)}</div></details>`}
${others.length > 0 && html`<h2>Also changed by others</h2>${pairs(others.map((field) => [field.label, shownText(field, stored)]))}`}
<p><button class="main">Save the chosen values</button></p></form>`;
}

const labelsOf = (fields: readonly FormField[]): string => fields.map(({ label }) => label).join(', ');

const shownText = ({ name }: FormField, texts: Texts): string =>
  cut(texts.get(name)?.join(', ') || '(empty)', MAX_STORED);

function choiceOf(field: FormField, stored: Texts, entered: Texts): Html {
  const filled = { id: 'mine', texts: entered };
  const name = `_use ${field.name}`;
  const id = idOf(field, { id: 'use', texts: entered });
  return html`<fieldset><legend>${field.label}</legend><div class="sides">
<div><label class="check"><input type="radio" id="${id}-stored" name="${name}" value="stored"> Stored now</label>
<pre class="stored">${shownText(field, stored)}</pre></div>
<div><label class="check"><input type="radio" id="${id}-entered" name="${name}" value="entered" checked> Entered by you</label>
${inputOf(field, filled)}</div>
</div></fieldset>\n`;
}
