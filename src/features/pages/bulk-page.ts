import type { Resource } from '../../collection/resource.js';
import { badRequest, filterRequired } from '../../errors/request-errors.js';
import { type Html, hidden, html } from '../../formats/html.js';
import { MERGE_PATCH } from '../../http/media-types.js';
import type { Request } from '../../http/request.js';
import { conditionName } from '../../list/query-names.js';
import { effectsOf } from './deletion-effects.js';
import type { PageForm } from './form-action.js';
import { type FormField, failuresIn, type Options } from './form-fields.js';
import { boxOf, inputOf, openForm, optionsOf } from './form-html.js';
import { editableOf } from './form-model.js';
import { collectionLabel, wordsOf } from './labels.js';
import type { PageContent, PageContext } from './layout.js';
import { ListView } from './list-query.js';
import { choicesIn, offersFor } from './reference-input.js';
import { collectionOf, mayWrite } from './site.js';
import { bodyOf, type Submitted, valuesIn } from './submitted-form.js';

/** Records that one form changes: as many as a page of a list has. */
const MAX_CHOSEN = 100;

/** The form around a list by which chosen records are changed or deleted; undefined: the caller may do neither. */
export function bulkBar(
  resource: Resource,
  { forms, site, request }: PageContext,
): ((table: Html) => Html) | undefined {
  const may = (method: 'PATCH' | 'DELETE') => mayWrite(site, request, resource, method);
  if (!may('PATCH') && !may('DELETE')) return undefined;
  const fields = fieldsOf(resource, request);
  const edit =
    may('PATCH') &&
    fields.length > 0 &&
    html`<label>Set <select name="_field">${optionsOf(fields.map(({ name, label }) => [name, label] as const))}</select></label> <button name="_bulk" value="PATCH">Edit…</button> `;
  const remove = may('DELETE') && html`<button name="_bulk" value="DELETE" class="danger">Delete…</button>`;
  // Records are changed at the path of their collection, with the filter of the list and of the record above it.
  const view = new ListView(resource, site, { ...request, path: `/${resource.name}` });
  const { id } = request.params;
  const above = id !== undefined && resource.parent && { [conditionName(resource.parent.field)]: id };
  const form = openForm(view.hrefWith({ ...above }), forms);
  return (table) =>
    html`${form}${table}<div class="bulk tools"><span id="chosen">Change chosen ${wordsOf(resource.name)} together</span> ${edit}${remove}</div></form>`;
}

/** The fields of which the caller can set one in several records: none with unique values. */
function fieldsOf(resource: Resource, request: Request): readonly FormField[] {
  const unique = resource.unique.flatMap(({ fields }) => (fields.length === 1 ? fields : []));
  const fields = editableOf(resource).fields(request, 'update');
  const isOne = (path: readonly string[]) => path.length === 1 && !unique.includes(path[0]!);
  return fields.filter(({ kind, path }) => isOne(path) && kind !== 'others' && kind !== 'secret');
}

/** The actions of a list's forms: those of chosen records with a page of confirmation before, or else `creation`. */
export function bulkPage(resource: Resource, creation: PageForm): PageForm {
  const isBulk = ({ entered }: Submitted) => entered.texts.has('_id');
  return {
    before: (submitted) =>
      submitted.entered.texts.has('_bulk') ? confirmation(resource, submitted) : undefined,
    queryOf: (submitted) => (isBulk(submitted) ? String(new URLSearchParams(chosenIn(submitted))) : ''),
    bodyOf: async (submitted) => {
      if (!isBulk(submitted) && submitted.method !== 'POST') throw filterRequired(submitted.method);
      if (!isBulk(submitted)) return creation.bodyOf!(submitted);
      if (submitted.method !== 'PATCH') return undefined;
      const field = chosenField(resource, submitted);
      const [[, value] = []] = await valuesIn(submitted, [field]);
      // A person who forgets the value would otherwise change all records to the default.
      if (value === undefined && !submitted.entered.texts.has('_remove'))
        throw badRequest('Enter a value for the field.');
      return bodyOf(MERGE_PATCH, { [field.path[0]!]: value ?? null });
    },
    next: (reply, submitted) => {
      if (!isBulk(submitted)) return creation.next(reply, submitted);
      const done = submitted.method === 'DELETE' ? 'deleted' : 'saved';
      return new ListView(resource, submitted.site, submitted.request).hrefWith({ _done: done });
    },
    failed: (problem, submitted) => {
      if (!isBulk(submitted)) return creation.failed?.(problem, submitted);
      const faults = failuresIn(problem);
      return confirmation(resource, submitted, faults.length > 0 ? faults : [problem]);
    },
  };
}

/** The condition that the chosen records meet. */
const chosenIn = ({ entered }: Submitted) => ({
  [conditionName('id', 'in')]: (entered.texts.get('_id') ?? []).slice(0, MAX_CHOSEN).join(','),
});

const chosenField = (resource: Resource, { entered, request }: Submitted): FormField => {
  const field = fieldsOf(resource, request).find(({ name }) => name === entered.own('_field'));
  if (!field) throw badRequest('No field that several records can share has this name.');
  return field;
};

/** The page that names the chosen records before they are changed or deleted. */
async function confirmation(
  resource: Resource,
  submitted: Submitted,
  faults: readonly { readonly message: string }[] = [],
): Promise<PageContent> {
  const { site, request, forms, entered } = submitted;
  const isDeletion = (entered.own('_bulk') || submitted.method) === 'DELETE';
  const [verb, write] = isDeletion ? (['Delete', 'remove'] as const) : (['Change', 'update'] as const);
  const query = { ...chosenIn(submitted), limit: String(MAX_CHOSEN) };
  const { choices } = await choicesIn(site, request, resource, query);
  const collection = collectionOf(site, resource.name)!.as(request);
  const writes = await Promise.all(choices.map(([id]) => collection.writesOf?.(id)));
  const isPermitted = (at: number) => writes[at]?.[write] ?? true;
  const chosen = choices.filter((_, at) => isPermitted(at));
  const others = choices.filter((_, at) => !isPermitted(at));
  const list = new ListView(resource, site, request).hrefWith({});
  const crumbs = [{ text: collectionLabel(resource.name), href: list }];
  const listOf = (some: Options) => html`<ul>${some.map(([, name]) => html`<li>${name}</li>`)}</ul>`;
  const refused =
    others.length > 0 &&
    html`<div class="note" role="status"><p>You may not ${verb.toLowerCase()} these, which stay as they are:</p>${listOf(others)}</div>`;
  if (chosen.length === 0)
    return {
      title: `Nothing to ${verb.toLowerCase()}`,
      crumbs,
      body: html`${refused}<p>Choose others in the <a href="${list}">list</a>.</p>`,
    };
  const field = isDeletion ? undefined : chosenField(resource, submitted);
  const { texts, named } = entered;
  const ids = chosen.map(([id]) => id);
  const effects = isDeletion && (await effectsOf(resource, ids, submitted));
  const many = `${chosen.length} ${wordsOf(chosen.length === 1 ? resource.singular : resource.name)}`;
  const own = { _method: isDeletion ? 'DELETE' : 'PATCH', _etag: '*', _field: field?.name ?? '' };
  return {
    title: `${verb} ${many}`,
    crumbs,
    body: html`${faults.map(({ message }) => html`<p class="error" role="alert">${message}</p>`)}${openForm(list, forms, own, 'edit')}${ids.map((id) => hidden('_id', id))}
${listOf(chosen)}${refused}
${field ? html`${inputOf(field, { id: 'bulk', texts, named, offers: await offersFor(site, request, [field]) })}${!field.isRequired && !('default' in field.schema) && boxOf('_remove', 'on', 'Remove the value', false)}` : html`${effects}<p>Deleted ${wordsOf(resource.name)} cannot be restored.</p>`}
<p><button class="${isDeletion ? 'danger' : 'main'}">${verb} ${many}</button> <a href="${list}">Cancel</a></p></form>`,
  };
}
