import type { Resource } from '../../collection/resource.js';
import { cut } from '../../formats/html.js';
import { type JsonObject, member } from '../../json.js';
import { escapeName } from '../../list/query-names.js';

/** The first letter as a capital. */
export const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** A name of code as words: `dueOn` and `due_on` are "due on". */
export const wordsOf = (name: string): string =>
  name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .replace(/[_-]+/g, ' ')
    .trim()
    .toLowerCase() || name;

/** The label of a collection. */
export const collectionLabel = (name: string): string => capitalized(wordsOf(name));

/** The label of a field: its title, or its name as words, without the "id" of a reference. */
export function fieldLabel(name: string, title?: string, isReference = false): string {
  if (title !== undefined) return title;
  const words = wordsOf(name);
  return capitalized((isReference && words.replace(/ id$/, '').replace(/ ids$/, 's')) || words);
}

/** Values of an array that a page shows. */
export const MAX_ITEMS = 20;
/** Characters of a name that pages repeat, and up to which a name is entered in a form. */
export const MAX_NAME_CHARACTERS = 200;

/** The text by which people know a record: the value of its display field, or its word and the end of its id, which differs also among records of one moment. */
export function titleOf({ display, singular }: Resource, record: JsonObject): string {
  const given = display === undefined ? undefined : member(record, display);
  return typeof given === 'string' && given.trim() !== ''
    ? given
    : `${capitalized(singular)} …${String(record.id).slice(-8)}`;
}

/** The title of a record where a page may have many: a long one is cut. */
export const shortTitleOf = (resource: Resource, record: JsonObject): string =>
  cut(titleOf(resource, record), MAX_NAME_CHARACTERS);

/** The parameter of a list that shows the names of its records alone. */
export const nameFields = ({ display }: Resource): Readonly<Record<string, string>> => ({
  fields: display === undefined ? 'id' : `id,${escapeName(display)}`,
});
