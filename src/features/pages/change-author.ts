import { html, type Part } from '../../formats/html.js';
import type { Names } from './names.js';

/** The collection of the users that sign in, whose ids are the actors of changes. */
const ownersOf = ({ site }: Names) => site.collections.find(({ resource }) => resource.owner)?.resource;

/** Reads the names of those who made some changes, as far as the caller may read these users. */
export async function readActors(names: Names, actors: readonly (string | null)[]): Promise<void> {
  const owners = ownersOf(names);
  if (owners) await names.read(owners.name, new Set(actors.filter((actor) => actor !== null)));
}

/** Who made a change: the caller, a user by name, another user, or a program by its own text. */
export function actorHtml(names: Names, actor: string | null): Part {
  if (actor === null) return undefined;
  const owners = ownersOf(names);
  if (actor === names.caller.principal.subject) return html`<b>You</b>`;
  const name = names.of(actor);
  if (name !== undefined && owners)
    return html`<a href="${names.site.prefix}/${owners.name}/${actor}">${name}</a>`;
  return /^[\da-f-]{36}$/i.test(actor) ? 'Another user' : actor;
}
