import type { Resource } from '../../collection/resource.js';
import { cut } from '../../formats/html.js';
import { conditionName, filterName } from '../../list/query-names.js';
import type { FormField, Options } from './form-fields.js';
import { type Caller, readListAs } from './inner-read.js';
import { MAX_NAME_CHARACTERS } from './labels.js';
import { ID, isEntered, Names } from './names.js';
import { collectionOf, collectionsFor, type Site } from './site.js';
import { nameFields, textPath, titleFields } from './title.js';

/** Records up to which a form offers all names of a collection, and which it compares with a name that is not found. */
const MAX_OFFERED = 50;
const MAX_COMPARED = 100;
/** Records among which a person chooses. */
const MAX_CHOICES = 20;

/** The id of the record that a person named, or what is wrong with the name and which records may be meant. */
export type Named = { readonly id: string } | { readonly message: string; readonly choices: Options };

type ListQuery = Readonly<Record<string, string>>;

/** The key of the meaning of a text in a field, and the name of the choice among the records that may be meant. */
export const meaningKey = ({ name }: FormField, text: string): string => `_as ${name} ${text.trim()}`;

/** The ids and names of the records of a list, and the number of all; undefined: the caller does not get the list. */
export async function choicesIn(site: Site, caller: Caller, resource: Resource, query: ListQuery) {
  const list = await readListAs(site, caller, `/${resource.name}`, { ...nameFields(resource), ...query });
  const [names, records] = [new Names(site, caller), list?.data ?? []];
  await names.readFor(resource, records);
  const choices = records.map((each) => [String(each.id), names.titleOf(resource, each)] as const);
  return { choices, total: list?.total };
}

/** The records of a collection by name, if these are few; none: there are more, or the caller does not get the list. */
export async function fewRecords(site: Site, caller: Caller, collection: string | undefined) {
  const known = collectionsFor(site, caller.principal);
  const resource = known.find((each) => each.resource.name === collection)?.resource;
  if (!resource || titleFields(resource).length === 0) return [];
  const { choices, total } = await choicesIn(site, caller, resource, { limit: String(MAX_OFFERED) });
  return total === undefined || total > MAX_OFFERED ? [] : choices;
}

/** The names that a form offers for its references, by the collection, as far as the caller may read them. */
export async function offersFor(site: Site, caller: Caller, fields: readonly FormField[]) {
  const collections = new Set(fields.flatMap(({ to }) => to ?? []));
  const offers = [...collections].map(async (to) => {
    const few = await fewRecords(site, caller, to);
    return [to, few.map(([, name]) => name).filter(isEntered)] as const;
  });
  return new Map(await Promise.all(offers));
}

/**
 * Finds the record that a person named in a form: by its id, its name, or a part of the name that only one record has. A caller that
 * does not get the list may refer to a record by its id, which the write looks up.
 */
export async function findNamed(site: Site, caller: Caller, { to }: FormField, text: string): Promise<Named> {
  const resource = collectionOf(site, to)?.resource;
  if (resource && ID.test(text)) {
    const { total } = await choicesIn(site, caller, resource, { [conditionName('id')]: text, count: 'none' });
    return total === 0 ? { message: `No such ${resource.singular} exists.`, choices: [] } : { id: text };
  }
  if (!resource || titleFields(resource).length === 0) return { message: 'must be an id', choices: [] };
  const { name: collection, singular, display } = resource;
  const called = `called “${cut(text, MAX_NAME_CHARACTERS)}”`;
  if (text.length > MAX_NAME_CHARACTERS) return { message: `no ${singular} is ${called}`, choices: [] };
  const read = async (condition: ListQuery): Promise<Options> =>
    (await choicesIn(site, caller, resource, { count: 'none', limit: String(MAX_COMPARED), ...condition }))
      .choices;
  const known = collectionsFor(site, caller.principal);
  const { path = [], operators = [] } = textPath(resource, titleFields(resource)[0]!, known) ?? {};
  // Filters find the first part of a title of several, and the titles themselves are compared.
  const part = display === undefined ? text.replace(/^[^,]*? of /, '').split(', ', 1)[0]! : text;
  const search = (operator: 'eq' | 'contains') =>
    operators.includes(operator) ? read({ [filterName([...path, operator])]: part }) : [];
  const [exact, parts] = await Promise.all([search('eq'), search('contains')]);
  const others = exact.length + parts.length > 0 ? [] : await read({});
  const all = [...new Map([...exact, ...parts, ...others])];
  const same = all.filter(([, name]) => name.toLowerCase() === text.toLowerCase()).slice(0, MAX_CHOICES);
  if (same.length === 1) return { id: same[0]![0] };
  const choose = ': choose one, or enter another name.';
  if (same.length > 1) return { message: `several ${collection} are ${called}${choose}`, choices: same };
  if (operators.length === 0 && others.length === MAX_COMPARED)
    return { message: `${collection} cannot be searched by name: enter the id`, choices: [] };
  const choices = parts.length > 0 ? parts.slice(0, MAX_CHOICES) : nearest(text, others);
  return { message: `no ${singular} is ${called}${choices.length > 0 ? choose : '.'}`, choices };
}

/** The records whose names have at least half of the pairs of letters of a text. */
function nearest(text: string, choices: Options): Options {
  const pairs = [...pairsOf(text)];
  const common = (own: Set<string>) => pairs.filter((pair) => own.has(pair)).length;
  return choices.filter(([, name]) => 2 * common(pairsOf(name)) >= pairs.length).slice(0, MAX_CHOICES);
}

const pairsOf = (text: string): Set<string> =>
  new Set([...text.toLowerCase()].map((letter, at, letters) => letter + (letters[at + 1] ?? '')));
