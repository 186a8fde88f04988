import { hrefOf } from '../../collection/representation.js';
import type { Reference, ReferredBy, Resource } from '../../collection/resource.js';
import { cut, type Html, html, type Part } from '../../formats/html.js';
import { type Json, type JsonObject, member } from '../../json.js';
import { conditionName } from '../../list/query-names.js';
import { OWNED } from '../../validation/validation.js';
import { actorHtml, changesOf } from './change-author.js';
import { invitationLink } from './collection-page.js';
import {
  type Column,
  columnOf,
  columnsOf,
  labelOf,
  MAX_UNDECLARED,
  undeclared,
  undeclaredNames,
} from './columns.js';
import { editableOf } from './form-model.js';
import { readListAs } from './inner-read.js';
import { collectionLabel, wordsOf } from './labels.js';
import { linksTo, pairs } from './list-table.js';
import type { Page, PageOptions } from './pages.js';
import { recordForm } from './record-form-actions.js';
import { fillOf, recordContent } from './record-forms.js';
import { collectionOf, collectionsFor, mayWrite } from './site.js';
import { MAX_NAMES } from './submitted-form.js';
import { nameFields } from './title.js';
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
      return recordContent(editable, shown, may, content, () => effects(resource, id, shown));
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
  const shown = (column: Column) =>
    fieldHtml(resource, record, column, wholeHtml(member(record, column.name), column, names));
  const others = undeclaredNames(resource, [record]).map(undeclared);
  return html`${long.map(({ name, label }) => html`<h2>${label}</h2><p class="long">${cut(String(member(record, name)), MAX_LONG)}</p>\n`)}
${pairs([...short, ...others].map((column) => [column.label, shown(column)]))}${others.length === MAX_UNDECLARED && html`<p>The JSON representation has all fields.</p>`}`;
}

/**
 * The collections with records that refer to a record, among those that the caller's scopes permit it to read: the first of these
 * records, and their number as far as they are counted.
 */
async function referring(resource: Resource, id: string, shown: PageOptions) {
  const { site, request, names } = shown;
  const { referredBy } = resource;
  const known = collectionsFor(site, request.principal);
  const read = async ({ collection, field }: ReferredBy) => {
    const other = known.find((each) => each.resource.name === collection)?.resource;
    const reference = other?.references.find((each) => each.field === field);
    if (!other || !reference) return [];
    const isNested = other.parent?.field === field;
    const condition = { [conditionName(field, reference.isList ? 'has' : 'eq')]: id };
    const limits = { limit: String(MAX_COUNTED + 1), count: 'none', ...nameFields(other) };
    const list = await readListAs(site, request, `/${collection}`, { ...condition, ...limits });
    const records = list?.data ?? [];
    await names.readTitles(other, records.slice(0, MAX_RELATED));
    const several = referredBy.filter((each) => each.collection === collection).length > 1;
    const by = labelOf(other, field);
    const path = isNested ? `${hrefOf(resource, id)}/${collection}` : `${site.prefix}/${collection}`;
    const canCreate = mayWrite(site, request, other, 'POST', isNested ? id : undefined);
    const filled = isNested ? '' : `&${new URLSearchParams({ [fillOf(field)]: id })}`;
    return {
      ...{ resource: other, records, onDelete: reference.onDelete },
      href: isNested ? path : `${path}?${new URLSearchParams(condition)}`,
      label: collectionLabel(collection) + (several ? ` by ${by.toLowerCase()}` : ''),
      count: list && (records.length > MAX_COUNTED ? `more than ${MAX_COUNTED}` : String(records.length)),
      creation: canCreate && `${path}?_new${filled}`,
      invitation: isNested && invitationLink(other, canCreate, shown, id),
    };
  };
  return (await Promise.all(referredBy.map(read))).flat();
}

/** The first records of each collection that refer to a record, and how many there are. */
async function related(resource: Resource, id: string, shown: PageOptions): Promise<Part> {
  const lists = await referring(resource, id, shown);
  return lists.map(
    ({ resource: other, label, href, creation, invitation, records, count }) =>
      html`<h2><a href="${href}">${label}</a> <span class="dim">${count}</span>${creation && html` <a class="button" href="${creation}">New ${wordsOf(other.singular)}</a>`} ${invitation}</h2>
${records.length > 0 && linksTo(other, records.slice(0, MAX_RELATED), shown.names)}`,
  );
}

/** The effect of a deletion on records that refer to the deleted one. */
const EFFECTS: Readonly<Record<Reference['onDelete'], string>> = {
  cascade: 'deleted with it',
  restrict: 'the deletion is refused as long as they refer to it',
  null: 'without the reference afterwards',
  remove: 'without the reference afterwards',
};

/** The effects of a deletion on the records that refer to a record, as far as the caller may read them. */
async function effects(resource: Resource, id: string, shown: PageOptions): Promise<Part> {
  const lists = await referring(resource, id, shown);
  const items = lists
    .filter(({ records }) => records.length > 0)
    .map(({ label, count, onDelete }) => html`<li>${label} (${count}): ${EFFECTS[onDelete]}</li>`);
  return items.length > 0 && html`<ul>${items}</ul>`;
}

async function history(resource: Resource, shown: PageOptions): Promise<Part> {
  const { names } = shown;
  const changes = await changesOf(resource, shown);
  if (changes.length === 0) return undefined;
  const fieldsOf = changes.flatMap(({ changes: changed }) => changed ?? []);
  const values = fieldsOf.flatMap(({ name, before, after }) => [{ [name]: before }, { [name]: after }]);
  await names.readFor(resource, values as readonly JsonObject[]);
  const shownAs = (name: string, given: Json | undefined): Part =>
    given === undefined
      ? html`<span class="dim">none</span>`
      : valueHtml(given, columnOf(resource, name), names);
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
