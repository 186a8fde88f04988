import type { Resource } from '../../collection/resource.js';
import type { Failure } from '../../errors/problem.js';
import { cut } from '../../formats/html.js';
import type { JsonObject } from '../../json.js';
import { conditionName, filterName } from '../../list/query-names.js';
import type { FormField } from './form-fields.js';
import { type Caller, readListAs } from './inner-read.js';
import { capitalized, MAX_NAME_CHARACTERS } from './labels.js';
import { ID, Names } from './names.js';
import { collectionOf, collectionsFor, mayWrite, type Site } from './site.js';
import { nameFields, titleFields, titlePath } from './title.js';

/** Records up to which a form offers all names of a collection, and which it compares with a name that is not found. */
const MAX_OFFERED = 50;
const MAX_COMPARED = 100;
/** Records among which a person chooses. */
const MAX_CHOICES = 20;

/** A record as a form offers it. */
export interface Choice {
  readonly id: string;
  readonly name: string;
}

/** The id of the record that a person named, or what is wrong with the name and which records may be meant. */
export type Named =
  | { readonly id: string }
  | { readonly failure: Failure; readonly choices: readonly Choice[] };

/** The key of the meaning of a text in a field. */
export const meaningKey = ({ to }: FormField, text: string): string => `${to} ${text.trim()}`;

/** The records to which a reference may lead, as a form offers them. */
export interface Offer {
  /** The names of all records, if these are few. */
  readonly names: readonly string[];
  /** The word for a record, if there is none yet. */
  readonly missing: string | undefined;
  /** The page that creates one; undefined: the caller may not. */
  readonly creation: string | undefined;
}

/** The records of a collection by name, if they are few; undefined: there are more, or the caller does not get the list. */
export async function fewRecords(
  site: Site,
  caller: Caller,
  resource: Resource,
): Promise<readonly (Choice & { readonly entry: string | undefined })[] | undefined> {
  const query = { ...nameFields(resource), limit: String(MAX_OFFERED) };
  const list = await readListAs(site, caller, `/${resource.name}`, query);
  if (!list || list.total > MAX_OFFERED) return undefined;
  const names = new Names(site, caller);
  await names.readTitles(resource, list.data);
  return list.data.map((each) => ({
    id: String(each.id),
    name: names.shortTitleOf(resource, each),
    entry: names.entryOf(resource, each),
  }));
}

/** The collections to which the fields of a form refer, with what the caller may choose from. */
export async function offersFor(
  site: Site,
  caller: Caller,
  fields: readonly FormField[],
): Promise<ReadonlyMap<string, Offer>> {
  const known = collectionsFor(site, caller.principal).filter(({ resource }) =>
    fields.some(({ to }) => to === resource.name),
  );
  const offers = await Promise.all(
    known.map(async ({ resource }): Promise<readonly [string, Offer]> => {
      const few = await fewRecords(site, caller, resource);
      const creation = `${site.prefix}/${resource.name}?_new`;
      const offer: Offer = {
        names: (few ?? []).flatMap(({ entry }) => entry ?? []),
        missing: few?.length === 0 ? resource.singular : undefined,
        creation: mayWrite(site, caller, resource, 'POST') ? creation : undefined,
      };
      return [resource.name, offer];
    }),
  );
  return new Map(offers);
}

/** Finds the record that a person named in a form: by its id, its name, or a part of the name that only one record has. */
export async function findNamed(site: Site, caller: Caller, field: FormField, text: string): Promise<Named> {
  const collection = field.to!;
  const known = collectionsFor(site, caller.principal);
  const resource = collectionOf(site, collection)?.resource;
  const wrong = (message: string, choices: readonly Choice[] = []): Named => ({
    failure: { path: field.name, message, keyword: 'reference' },
    choices,
  });
  if (!resource) return wrong('must be an id');
  const names = new Names(site, caller);
  const read = async (more: Readonly<Record<string, string>>): Promise<Choice[]> => {
    const query = { ...nameFields(resource), count: 'none', ...more };
    const list = await readListAs(site, caller, `/${collection}`, query);
    const records: readonly JsonObject[] = list?.data ?? [];
    await names.readTitles(resource, records);
    return records.map((record) => ({ id: String(record.id), name: names.shortTitleOf(resource, record) }));
  };
  if (ID.test(text)) {
    const [found] = await read({ [conditionName('id')]: text, limit: '1' });
    return found ? { id: found.id } : wrong(`no ${resource.singular} has this id`);
  }
  const fields = titleFields(resource);
  if (fields.length === 0) return wrong('must be an id');
  const called = `called “${cut(text, MAX_NAME_CHARACTERS)}”`;
  if (text.length > MAX_NAME_CHARACTERS) return wrong(`no ${resource.singular} is ${called}`);
  const { path = [], operators = [] } = titlePath(resource, known) ?? {};
  // Filters find the first part of a title of several, and the titles themselves are compared.
  const part = resource.display === undefined ? firstPart(text, resource.singular) : text;
  const most = String(resource.display === undefined ? MAX_COMPARED : MAX_CHOICES);
  const exact = operators.includes('eq') ? await read({ [filterName(path)]: part, limit: most }) : [];
  const parts = operators.includes('contains')
    ? await read({ [filterName([...path, 'contains'])]: part, limit: most })
    : [];
  const others = exact.length + parts.length > 0 ? [] : await read({ limit: String(MAX_COMPARED) });
  const same = [...exact, ...parts, ...others].filter(
    ({ name }) => name.toLowerCase() === text.toLowerCase(),
  );
  const found = [...new Map(same.map((each) => [each.id, each])).values()];
  if (found.length === 1) return { id: found[0]!.id };
  if (found.length > 1)
    return wrong(`several ${collection} are ${called}: choose one`, found.slice(0, MAX_CHOICES));
  if (!operators.includes('eq') && !operators.includes('contains') && others.length === MAX_COMPARED)
    return wrong(`${collection} cannot be searched by name: enter the id`);
  const near = parts.length > 0 ? parts.slice(0, MAX_CHOICES) : nearest(text, others);
  const [first] = near;
  const guess =
    first && near.length === 1 ? ` Is ${first.name} meant?` : near.length > 1 ? ' Choose one of these.' : '';
  return wrong(`no ${resource.singular} is ${called}.${guess}`, near);
}

/** The first part of a title that consists of several: what stands before a comma, without the word for the record. */
function firstPart(text: string, singular: string): string {
  const word = `${capitalized(singular)} of `;
  const title = text.toLowerCase().startsWith(word.toLowerCase()) ? text.slice(word.length) : text;
  return title.split(', ', 1)[0]!;
}

/** The records with the most pairs of letters in common with a text, if these are at least half of the pairs. */
function nearest(text: string, choices: readonly Choice[]): Choice[] {
  const pairs = pairsOf(text);
  const scored = choices.map((choice) => {
    const own = pairsOf(choice.name);
    const shared = [...pairs].filter((pair) => own.has(pair)).length;
    return { choice, score: shared / Math.max(1, pairs.size) };
  });
  return scored
    .filter(({ score }) => score >= 0.5)
    .sort((a, b) => b.score - a.score)
    .slice(0, 5)
    .map(({ choice }) => choice);
}

function pairsOf(text: string): Set<string> {
  const letters = text.slice(0, 200).toLowerCase();
  return new Set(
    Array.from({ length: Math.max(0, letters.length - 1) }, (_, at) => letters.slice(at, at + 2)),
  );
}
