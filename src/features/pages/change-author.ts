import { newestChanges } from '../../actions/history.js';
import type { Resource } from '../../collection/resource.js';
import { type Html, html, type Part } from '../../formats/html.js';
import { isObject, type Json, type JsonObject } from '../../json.js';
import { cellOf, wordsOf } from './labels.js';
import type { PageContext } from './layout.js';
import { ID, type Names } from './names.js';
import { collectionOf, ownersOf } from './site.js';
import { titleFields } from './title.js';
import { linkTo, timeHtml } from './values.js';

/** Reads the names of those who made some changes, as far as the caller may read these users. */
export async function readActors(names: Names, actors: readonly (Json | undefined)[]): Promise<void> {
  const owners = ownersOf(names.site);
  if (owners) await names.read(owners.name, actors.map(String));
}

/** The newest changes of the record of a page, with the names of their actors; none: the caller may not read the events. */
export async function changesOf({ name }: Resource, { site, request, names }: PageContext) {
  const changes = site.feed ? await newestChanges(collectionOf(site, name)!, request, site.feed) : [];
  const actors = changes.map(({ actor }) => actor);
  await readActors(names, actors);
  return changes;
}

/** Who made a change: the caller, a user by name, another user, or a program by its own text. */
export function actorHtml(names: Names, actor: Json | undefined): Part {
  if (typeof actor !== 'string') return undefined;
  if (actor === names.caller.principal.subject) return html`<b>You</b>`;
  const name = names.of(actor);
  if (name !== undefined) return linkTo(names, ownersOf(names.site)!.name, actor);
  return ID.test(actor) ? 'Another user' : actor;
}

/** Some events: who did what, by the titles of their records. */
export async function eventsList(names: Names, events: readonly JsonObject[]): Promise<Html> {
  const resourceOf = ({ type }: JsonObject) => collectionOf(names.site, String(type).split('.')[0])?.resource;
  const readTitles = names.site.collections.map(({ resource }) => {
    const data = events.flatMap((event) => (resourceOf(event) === resource ? (event.data ?? []) : []));
    const references = resource.references.filter(({ field }) => titleFields(resource).includes(field));
    return names.readFor({ references }, data as readonly JsonObject[], 1);
  });
  const actors = events.map(({ actor }) => actor);
  await Promise.all([readActors(names, actors), ...readTitles]);
  const items = events.map(({ type, subject, time, actor, data, previous }) => {
    const [collection = '', verb = ''] = String(type).split('.');
    const resource = collectionOf(names.site, collection)?.resource;
    // The last name that an event of the record shows, without a link to a record that is deleted.
    const own = events.filter((each) => each.subject === subject);
    const last = own.map((each) => each.data).find(isObject);
    const text = resource && last && cellOf(names.titleOf(resource, last));
    const title = text ?? `a record of ${wordsOf(collection)}`;
    const version = isObject(data) ? data._version : previous;
    const href = `${String(subject)}${version === undefined ? '' : `#version-${String(version)}`}`;
    const name = String(own[0]!.type).endsWith('.deleted') ? title : html`<a href="${href}">${title}</a>`;
    return html`<li>${actorHtml(names, actor)} ${verb} ${name}<br>${timeHtml(String(time))}${version !== undefined && html` <span class="dim">version ${String(version)}</span>`}</li>\n`;
  });
  return html`<ul class="changes">${items}</ul>`;
}
