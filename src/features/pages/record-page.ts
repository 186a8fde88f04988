import { hrefOf, referenceOf } from '../../collection/representation.js';
import type { Resource } from '../../collection/resource.js';
import { type Change, type FieldChange, readHistory } from '../../events/record-history.js';
import { type Html, html, type Part } from '../../formats/html.js';
import type { Json } from '../../json.js';
import { conditionName, valuesOfAddress } from '../../list/query-names.js';
import { isWhole, readView } from '../../list/read-fields-and-includes.js';
import { crumbsOf, editableOf } from './form-model.js';
import { cellOf } from './list-cells.js';
import { recordTable } from './list-table.js';
import type { Page, PageOptions } from './pages.js';
import { changeAction } from './record-form-actions.js';
import { changeDetails } from './record-forms.js';
import { collectionsFor, othersOf } from './site.js';

/** The page of a record: its fields, what it refers to and what refers to it, its changes, and forms to change it. */
export function recordPage(resource: Resource): Page {
  const editable = editableOf(resource);
  return {
    isRecord: true,
    form: changeAction(editable),
    content: async (shown) => {
      const { site, request, json } = shown;
      const id = String(json.id);
      // A part of a record cannot be edited as if it were the record.
      const canEdit = isWhole(readView(valuesOfAddress(request.query), resource, othersOf(site)));
      const collection = site.collections.find((each) => each.resource.name === resource.name)!;
      const writes = canEdit ? await collection.as(request).writesOf?.(id, request.run) : undefined;
      const may = (method: string) =>
        shown.may(method) && (writes?.[method === 'DELETE' ? 'remove' : 'update'] ?? true);
      return {
        title: editable.titleOf(json),
        crumbs: [...crumbsOf(site, resource.name), { text: editable.titleOf(json) }],
        body: html`${recordTable(json, (each, field) => referenceOf(resource, each, field))}
${related(resource, id, shown)}
${canEdit && changeDetails(editable, json, { ...shown, may })}
${request.run ? undefined : await history(resource, id, shown)}`,
        query: '',
      };
    },
  };
}

/** Links to the records that refer to this one, of collections that the caller's scopes permit it to read. */
function related(resource: Resource, id: string, { site, request: { principal } }: PageOptions): Part {
  const known = collectionsFor(site, principal).map((each) => each.resource.name);
  const { prefix } = resource;
  const children = resource.children.filter((name) => known.includes(name));
  const referredBy = resource.referredBy.filter(({ collection }) => known.includes(collection));
  const nested = children.map((name) => ({ name, href: `${hrefOf(resource, id)}/${name}` }));
  const others = referredBy
    .filter(({ collection }) => !children.includes(collection))
    .map(({ collection, field, links }) => ({
      name: `${collection} by ${field}`,
      href: `${prefix}/${collection}?${new URLSearchParams({ [conditionName(field, links === undefined ? 'eq' : 'has')]: id })}`,
    }));
  const links = [...nested, ...others];
  return (
    links.length > 0 &&
    html`<h2>Related</h2>
<ul>${links.map(({ name, href }) => html`<li><a href="${href}">${name}</a></li>`)}</ul>`
  );
}

async function history(resource: Resource, id: string, { site, request }: PageOptions): Promise<Part> {
  const changes = site.feed && (await readHistory(site.feed, resource, id, request.principal));
  if (!changes) return undefined;
  const isComplete = changes.at(-1)?.version === 1;
  return html`<h2>History</h2>
${changes.length > 0 && html`<ul>${changes.map((change) => changeItem(site.prefix, change))}</ul>`}
${!isComplete && html`<p class="hint">Earlier changes are no longer among the newest events.</p>`}`;
}

function changeItem(prefix: string, { cursor, type, time, version, actor, fields }: Change): Html {
  const href = `${prefix}/events?after=${cursor}&limit=1`;
  const verb = type.slice(type.lastIndexOf('.') + 1);
  return html`<li><a href="${href}">${verb}</a>${actor !== undefined && html` by ${actor}`} <time datetime="${time}">${cellOf(time)}</time> <span class="dim">version ${version}</span>${fields && verb === 'updated' && fieldList(fields)}</li>`;
}

/** The fields that a change has set, each with the value before. */
const fieldList = (fields: readonly FieldChange[]): Html =>
  html`<ul>${fields.map(({ name, before, after }) => html`<li>${name}: ${shown(before)} → ${shown(after)}</li>`)}</ul>`;

const shown = (value: Json | undefined): Html =>
  value === undefined ? html`<span class="dim">none</span>` : html`${cellOf(value)}`;
