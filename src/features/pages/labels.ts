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

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** The day that begins a text, as people read it: `4 Jul 1996`. A text of another form stays as it is. */
export function dayText(text: string): string {
  const [, year, month, day] = /^(\d{4})-(0[1-9]|1[0-2])-(\d\d)/.exec(text) ?? [];
  return year === undefined ? text : `${Number(day)} ${MONTHS[Number(month) - 1]} ${year}`;
}
