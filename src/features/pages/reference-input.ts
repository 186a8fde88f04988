import type { Resource } from '../../collection/resource.js';
import type { Failure } from '../../errors/problem.js';
import { cut } from '../../formats/html.js';
import { operatorsOf } from '../../list/condition.js';
import { conditionName } from '../../list/query-names.js';
import type { FormField } from './form-fields.js';
import { type Caller, readListAs } from './inner-read.js';
import { MAX_NAME_CHARACTERS, nameFields, shortTitleOf, titleOf } from './labels.js';
import { ID, isEntered } from './names.js';
import type { Site } from './site.js';

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

/** The collections to which the fields of a form refer, each with its names if these are few. */
export async function offersFor(
  site: Site,
  caller: Caller,
  fields: readonly FormField[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const collections = [...new Set(fields.flatMap(({ to }) => to ?? []))];
  const offers = await Promise.all(
    collections.map(async (name) => {
      const { resource, query } = listOf(site, name);
      const list =
        resource &&
        (await readListAs(site, caller, { template: `/${name}` }, { ...query, limit: String(MAX_OFFERED) }));
      const names = list && list.total <= MAX_OFFERED ? list.data.map((each) => titleOf(resource, each)) : [];
      return [name, names.filter(isEntered)] as const;
    }),
  );
  return new Map(offers);
}

function listOf(
  { collections }: Site,
  name: string,
): { resource: Resource | undefined; query: Readonly<Record<string, string>> } {
  const resource = collections.find((each) => each.resource.name === name)?.resource;
  return { resource, query: resource ? nameFields(resource) : {} };
}

/** Finds the record that a person named in a form: by its id, its name, or a part of the name that only one record has. */
export async function findNamed(site: Site, caller: Caller, field: FormField, text: string): Promise<Named> {
  const collection = field.to!;
  const { resource, query } = listOf(site, collection);
  const wrong = (message: string, choices: readonly Choice[] = []): Named => ({
    failure: { path: field.name, message, keyword: 'reference' },
    choices,
  });
  if (!resource) return wrong('must be an id');
  const read = async (more: Readonly<Record<string, string>>): Promise<Choice[]> => {
    const list = await readListAs(
      site,
      caller,
      { template: `/${collection}` },
      { ...query, count: 'none', ...more },
    );
    return (list?.data ?? []).map((record) => ({
      id: String(record.id),
      name: shortTitleOf(resource, record),
    }));
  };
  if (ID.test(text)) {
    const [found] = await read({ [conditionName('id')]: text, limit: '1' });
    return found ? { id: found.id } : wrong(`no ${resource.singular} has this id`);
  }
  if (resource.display === undefined) return wrong('must be an id');
  const called = `called “${cut(text, MAX_NAME_CHARACTERS)}”`;
  if (text.length > MAX_NAME_CHARACTERS) return wrong(`no ${resource.singular} is ${called}`);
  const known = new Set(operatorsOf(resource).get(resource.display) ?? []);
  const exact = known.has('eq') ? await read({ [conditionName(resource.display)]: text, limit: '3' }) : [];
  const parts = known.has('contains')
    ? await read({ [conditionName(resource.display, 'contains')]: text, limit: String(MAX_CHOICES) })
    : [];
  const others = exact.length + parts.length > 0 ? [] : await read({ limit: String(MAX_COMPARED) });
  const same = [...exact, ...parts, ...others].filter(
    ({ name }) => name.toLowerCase() === text.toLowerCase(),
  );
  const found = [...new Map(same.map((each) => [each.id, each])).values()];
  if (found.length === 1) return { id: found[0]!.id };
  if (found.length > 1) return wrong(`several ${collection} are ${called}: choose one`, found);
  if (!known.has('eq') && !known.has('contains') && others.length === MAX_COMPARED)
    return wrong(`${collection} cannot be searched by name: enter the id`);
  const near = parts.length > 0 ? parts : nearest(text, others);
  const [first] = near;
  const guess =
    first && near.length === 1 ? ` Is ${first.name} meant?` : near.length > 1 ? ' Choose one of these.' : '';
  return wrong(`no ${resource.singular} is ${called}.${guess}`, near);
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
