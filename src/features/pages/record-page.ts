import { hrefOf } from '../../collection/representation.js';
import type { ReferredBy, Resource } from '../../collection/resource.js';
import { cut, type Html, html, type Part } from '../../formats/html.js';
import { type Json, type JsonObject, member } from '../../json.js';
import { conditionName, escapeName } from '../../list/query-names.js';
import { OWNED } from '../../validation/validation.js';
import { actorHtml, changesOf } from './change-author.js';
import { invitationLink } from './collection-page.js';
import { columnOf, columnsOf, labelOf, MAX_UNDECLARED, undeclared, undeclaredNames } from './columns.js';
import { editableOf } from './form-model.js';
import { readListAs } from './inner-read.js';
import { collectionLabel, wordsOf } from './labels.js';
import { linksTo, pairs } from './list-table.js';
import type { Page, PageOptions } from './pages.js';
import { recordForm } from './record-form-actions.js';
import { fillOf, recordContent } from './record-forms.js';
import { collectionOf, collectionsFor, mayWrite } from './site.js';
import { MAX_NAMES } from './submitted-form.js';
import { nameFields, titleFields } from './title.js';
import { fieldHtml, MAX_LONG, timeHtml, valueHtml, wholeHtml } from './values.js';

/** Related records that a page names, of each collection. */
const MAX_RELATED = 3;
/** Related records of each collection up to which a page counts them. */
const MAX_COUNTED = 20;

/** The page of a record: its fields, what refers to it, its changes, and the ways to change it. */
export function recordPage(resource: Resource): Page {
  const editable = editableOf(resource);
  return {
    isRecord: true,
    // A part of a record could not be edited as if it were the record.
    query: () => '',
    form: recordForm(editable),
    content: async (shown) => {
      const { site, request, json, names } = shown;
      const id = String(json.id);
      const collection = collectionOf(site, resource.name)!;
      const writes = await collection.as(request).writesOf?.(id);
      const may = (method: string) =>
        shown.may(method) && (writes?.[method === 'DELETE' ? 'remove' : 'update'] ?? true);
      await names.readFor(resource, [json], request.query.parameters.has('_edit') ? MAX_NAMES : undefined);
      const content = async () => {
        const [lists, changes] = await Promise.all([related(resource, id, shown), history(resource, shown)]);
        const { _version, created_at: created, updated_at: updated } = json;
        return {
          body: html`<div class="cols"><div>${fields(resource, json, shown)}${lists}
<p class="dim">${created !== undefined && html`Created ${timeHtml(String(created))}, `}${updated !== undefined && html`changed ${timeHtml(String(updated))}, `}version ${String(_version ?? '')}, id <code>${id}</code></p></div>
<div>${changes}</div></div>`,
        };
      };
      return recordContent(editable, { ...shown, may }, content);
    },
  };
}

/** Long texts first, then the other fields as pairs. */
function fields(resource: Resource, record: JsonObject, { names }: PageOptions): Html {
  const declared = columnsOf(resource).filter(
    ({ name, kind }) => (name !== resource.display || kind === 'reference') && !OWNED.has(name),
  );
  const long = declared.filter(({ name, kind }) => kind === 'long' && member(record, name) !== undefined);
  const short = declared.filter(({ kind }) => kind !== 'long');
  const others = undeclaredNames(resource, [record]).map(undeclared);
  const entries = [...short, ...others].map((column) => {
    const value = wholeHtml(member(record, column.name), column, names);
    return [column.label, fieldHtml(resource, record, column, value)] as const;
  });
  return html`${long.map(({ name, label }) => html`<h2>${label}</h2><p class="long">${cut(String(member(record, name)), MAX_LONG)}</p>\n`)}
${pairs(entries)}${others.length === MAX_UNDECLARED && html`<p>The JSON representation has all fields.</p>`}`;
}

/** The first records of each collection that refer to a record, and how many there are, as far as the caller may read them. */
async function related(resource: Resource, id: string, shown: PageOptions): Promise<Part> {
  const { site, request, names } = shown;
  const { referredBy } = resource;
  const known = collectionsFor(site, request.principal);
  const read = async ({ collection, field }: ReferredBy): Promise<Part> => {
    const other = known.find((each) => each.resource.name === collection)?.resource;
    const reference = other?.references.find((each) => each.field === field);
    if (!other || !reference) return undefined;
    const isNested = other.parent?.field === field;
    const condition = { [conditionName(field, reference.isList ? 'has' : 'eq')]: id };
    const bylines = other.set.filter(({ value, on }) => value === 'caller' && on === 'create');
    const named = [field, ...titleFields(other)];
    const all = [...bylines.map((each) => each.field), 'created_at'];
    const columns = all.filter((name) => !named.includes(name));
    const fields = [nameFields(other).fields, ...columns.map(escapeName)].join();
    const limits = { limit: String(MAX_COUNTED + 1), count: 'none', fields };
    const list = await readListAs(site, request, `/${collection}`, { ...condition, ...limits });
    const records = list?.data.slice(0, MAX_RELATED) ?? [];
    await names.readFor(other, records);
    const several = referredBy.filter((each) => each.collection === collection).length > 1;
    const label = collectionLabel(collection) + (several ? ` by ${labelOf(other, field).toLowerCase()}` : '');
    const count = list && (list.total > MAX_COUNTED ? `more than ${MAX_COUNTED}` : list.total);
    const path = isNested ? `${hrefOf(resource, id)}/${collection}` : `${site.prefix}/${collection}`;
    const href = isNested ? path : `${path}?${new URLSearchParams(condition)}`;
    const canCreate = mayWrite(site, request, other, 'POST', isNested ? id : undefined);
    const filled = isNested ? '' : `&${new URLSearchParams({ [fillOf(field)]: id })}`;
    const creation =
      canCreate && html` <a class="button" href="${path}?_new${filled}">New ${wordsOf(other.singular)}</a>`;
    const invitation = isNested && invitationLink(other, canCreate, shown, id);
    return html`<h2><a href="${href}">${label}</a> <span class="dim">${count}</span>${creation} ${invitation}</h2>
${records.length > 0 && linksTo(other, records, names, columns)}`;
  };
  return Promise.all(referredBy.map(read));
}

async function history(resource: Resource, shown: PageOptions): Promise<Part> {
  const { names } = shown;
  const changes = await changesOf(resource, shown);
  if (changes.length === 0) return undefined;
  const fieldsOf = changes.flatMap(({ changes: changed }) => changed ?? []);
  const values = fieldsOf.flatMap(({ name, before, after }) => [{ [name]: before }, { [name]: after }]);
  await names.readFor(resource, values as readonly JsonObject[]);
  const shownAs = (name: string, given: Json | undefined): Part =>
    valueHtml(given, columnOf(resource, name), names) || html`<span class="dim">none</span>`;
  const items = changes.map(({ type, time, version, actor, changes: changed }) => {
    const verb = type.slice(type.lastIndexOf('.') + 1);
    const list =
      verb === 'updated' &&
      changed?.map(
        ({ name, before, after }) =>
          html`<br>${labelOf(resource, name)}: ${shownAs(name, before)} → ${shownAs(name, after)}`,
      );
    return html`<li id="version-${version}">${actorHtml(names, actor)} ${verb} ${timeHtml(time)} <span class="dim">version ${version}</span>${list}</li>\n`;
  });
  return html`<h2>Changes</h2>\n<ul class="changes">${items}</ul>`;
}
