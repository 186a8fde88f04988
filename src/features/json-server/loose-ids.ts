import type { Reference, Resource } from '../../collection/resource.js';
import type { Collection } from '../../feature.js';
import type { Request } from '../../http/request.js';
import { type Comparison, type Condition, comparedColumn, EVERYTHING } from '../../list/condition.js';
import { parseUuid } from '../../uuid.js';
import type { LooseCondition } from './loose-query.js';

/** The references of fields with one id. */
export const singleReferences = ({ references }: Pick<Resource, 'references'>): readonly Reference[] =>
  references.filter(({ isList }) => !isList);

export const LEGACY_ID = 'legacy_id';

/** The id of a record by its id or the one from before an import; undefined: no record has this one. */
export async function newIdOf(
  collection: Collection,
  id: string,
  { run }: Pick<Request, 'run'>,
): Promise<string | undefined> {
  if (parseUuid(id) !== undefined) return id;
  const conditions = oneOfIds(collection.resource, [id]);
  const isPossible = conditions.some(({ values }) => values.length > 0);
  if (id.includes('\0') || !isPossible) return undefined;
  const selection = { ...EVERYTHING, conditions: [{ kind: 'or', conditions } as const] };
  return (await collection.ids(selection, 1, run))[0];
}

/** Conditions that mean one on ids, which both the service's and those from before an import fulfil; undefined: it is about another value. */
export function idConditions(
  { field, operator, values }: LooseCondition,
  resource: Resource,
  others: ReadonlyMap<string, Resource>,
): Condition[] | undefined {
  if (operator !== 'eq' && operator !== 'ne') return undefined;
  const matches = idsMatch(resource, others, field, values);
  if (matches === undefined || operator === 'eq') return matches && [matches];
  const differs: Condition = { kind: 'not', conditions: [matches] };
  if (field === 'id') return [differs];
  const column = resource.columns.get(field)!;
  return [{ kind: 'comparison', field, column, operator: 'null', values: ['false'] }, differs];
}

function idsMatch(
  resource: Resource,
  others: ReadonlyMap<string, Resource>,
  field: string,
  values: readonly string[],
): Condition | undefined {
  if (field === 'id') return { kind: 'or', conditions: oneOfIds(resource, values) };
  const other = others.get(singleReferences(resource).find((each) => each.field === field)?.to ?? '');
  return (
    other && {
      kind: 'relation',
      relation: field,
      quantifier: 'one',
      other,
      own: resource.columns.get(field),
      referring: [],
      conditions: [{ kind: 'or', conditions: oneOfIds(other, values) }],
    }
  );
}

/** Comparisons of which one holds for a record with one of some ids. */
const oneOfIds = (resource: Resource, ids: readonly string[]): Comparison[] =>
  ['id', LEGACY_ID].flatMap((field): Comparison[] => {
    const column = comparedColumn(resource, field);
    if (column === undefined) return [];
    const values = ids.filter(VALUES[column.type] ?? (() => false));
    return [{ kind: 'comparison', field, column, operator: 'in', values }];
  });

/** By the type of a column, whether a text is one of its values as json-server writes it. */
const VALUES: Readonly<Record<string, (text: string) => boolean>> = {
  uuid: (text) => parseUuid(text) === text,
  text: () => true,
  'double precision': (text) => Number.isFinite(Number(text)) && String(Number(text)) === text,
};
