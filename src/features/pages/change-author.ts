import type { Resource } from '../../collection/resource.js';
import { html, type Part } from '../../formats/html.js';
import { isObject, type JsonObject } from '../../json.js';
import type { Names } from './names.js';
import type { Site } from './site.js';

/** The collection of the users that sign in, whose ids are the actors of changes. */
export const ownersOf = ({ collections }: Site): Resource | undefined =>
  collections.find(({ resource }) => resource.owner)?.resource;

/** Reads the names of those who made some changes, as far as the caller may read these users. */
export async function readActors(names: Names, actors: readonly (string | null)[]): Promise<void> {
  const owners = ownersOf(names.site);
  if (owners) await names.read(owners.name, new Set(actors.filter((actor) => actor !== null)));
}

/** Who made a change: the caller, a user by name, another user, or a program by its own text. */
export function actorHtml(names: Names, actor: string | null): Part {
  if (actor === null) return undefined;
  const owners = ownersOf(names.site);
  if (actor === names.caller.principal.subject) return html`<b>You</b>`;
  const name = names.of(actor);
  if (name !== undefined && owners)
    return html`<a href="${names.site.prefix}/${owners.name}/${actor}">${name}</a>`;
  return /^[\da-f-]{36}$/i.test(actor) ? 'Another user' : actor;
}

/** The actor of an event, as `readActors` and `actorHtml` have it. */
export const actorOf = ({ actor }: JsonObject): string | null => (typeof actor === 'string' ? actor : null);

/** Reads the names of the actors of some events, and the names in the titles of their records. */
export async function readEventNames(names: Names, events: readonly JsonObject[]): Promise<void> {
  const records = new Map<Resource, JsonObject[]>();
  for (const event of events) {
    const resource = resourceOf(names, event);
    if (resource && isObject(event.data))
      records.set(resource, [...(records.get(resource) ?? []), event.data]);
  }
  await Promise.all([
    readActors(names, events.map(actorOf)),
    ...[...records].map(([resource, found]) => names.readTitles(resource, found)),
  ]);
}

/** The title of the record of an event; undefined: the event has no record. */
export function eventTitle(names: Names, event: JsonObject): string | undefined {
  const resource = resourceOf(names, event);
  return resource && isObject(event.data) ? names.shortTitleOf(resource, event.data) : undefined;
}

const resourceOf = ({ site }: Names, { type }: JsonObject): Resource | undefined => {
  const [name] = String(type).split('.', 1);
  return site.collections.find(({ resource }) => resource.name === name)?.resource;
};
