import type { Json, JsonObject } from '../../src/json.js';
import { CITUS_URL } from '../support/citus.js';
import type { Data } from './evaluator.js';
import { type Draw, type Schema, TRACKER, WORDS } from './tracker.js';

const OPERATORS: Readonly<Record<string, readonly string[]>> = {
  string: ['eq', 'ne', 'lt', 'lte', 'gt', 'gte', 'between', 'in', 'nin', 'prefix', 'null'],
  number: ['eq', 'ne', 'lt', 'lte', 'gt', 'gte', 'between', 'in', 'nin', 'null'],
  boolean: ['eq', 'ne', 'in', 'nin', 'null'],
  uuid: ['eq', 'ne', 'in', 'nin', 'null'],
  array: ['has', 'any'],
};

const propertiesIn =
  ({ declarations }: Schema) =>
  (name: string) =>
    declarations[`${name}.json`]!.properties;

/** A backslash distinguishes a field from a name that combines conditions. */
const escaped = (field: string): string => (['and', 'or', 'not'].includes(field) ? `\\${field}` : field);

/** Whether lists can be filtered, and unless it is an array, sorted and grouped by a field. */
export const isIndexed = (rules: JsonObject): boolean =>
  ['x-index', 'x-unique', 'x-references'].some((keyword) => rules[keyword] !== undefined) ||
  referenceIn(rules) !== undefined;

/** Whether the texts of a field have the order of their values. */
export const isOrdered = (rules: JsonObject): boolean => !['time', 'duration'].includes(String(rules.format));

/** The collection to which a field refers, also by its items. */
export const referenceIn = (rules: JsonObject): string | undefined =>
  (rules['x-references'] ?? (rules.items as JsonObject | undefined)?.['x-references']) as string | undefined;

/** Draws filters of a collection, with the values of its records. */
export function filters(data: Data, { next, pick, maybe }: Draw, schema = TRACKER) {
  const properties = propertiesIn(schema);
  const condition = (name: string): [string, Json] => {
    const declared = Object.entries(properties(name)).filter(([, rules]) => isIndexed(rules));
    const own = ['id', 'created_at', 'updated_at', '_version'] as const;
    const searched = Object.keys(properties(name)).filter((field) => properties(name)[field]!['x-search']);
    if (searched.length > 0 && maybe(0.15))
      return [escaped(pick(searched)), { contains: pick([...WORDS, 're', 'RED', 'n', '%', '_', '\\']) }];
    const [field, rules] = maybe(0.2) ? [pick(own), { type: 'own' } as JsonObject] : pick(declared);
    const values = data[name]!.flatMap((record) => record[field] ?? []);
    if (values.length === 0) return ['_version', { gte: 1 }];
    const isId = rules['x-references'] !== undefined || field === 'id';
    const kind = isId
      ? field === 'id'
        ? 'number'
        : 'uuid'
      : field === '_version'
        ? 'number'
        : rules.type === 'own'
          ? 'time'
          : rules.type === 'integer'
            ? 'number'
            : String(rules.type);
    const operators =
      kind === 'time' || rules.format === 'date-time'
        ? OPERATORS.string!.filter((each) => each !== 'prefix')
        : isOrdered(rules)
          ? OPERATORS[kind]!
          : OPERATORS.string!.filter((each) => !/^([lg]te?|between)$/.test(each));
    const operator = pick(
      field in { id: 1, created_at: 1, updated_at: 1, _version: 1 }
        ? operators.filter((each) => each !== 'null')
        : operators,
    );
    const value = (): Json => pick(values);
    const list = (length: number) => Array.from({ length }, value);
    const operand =
      operator === 'null'
        ? maybe(0.5)
        : operator === 'between'
          ? list(2)
          : operator === 'in' || operator === 'nin' || operator === 'any'
            ? list(1 + next(3))
            : operator === 'prefix'
              ? String(value()).slice(0, 1 + next(3))
              : value();
    const written = operator === 'eq' && maybe(0.5) ? operand : { [operator]: operand };
    return [escaped(field), written];
  };
  const filter = (name: string, steps: number, depth: number): JsonObject => {
    const members: [string, Json][] = [];
    for (let n = 1 + next(2); n > 0; n--) {
      const relations = Object.entries(schema.relations[name]!);
      const kind = next(10);
      if (depth > 0 && kind < 2)
        members.push([
          pick(['or', 'and']),
          Array.from({ length: 1 + next(3) }, () => filter(name, steps, depth - 1)),
        ]);
      else if (depth > 0 && kind === 2) members.push(['not', filter(name, steps, depth - 1)]);
      else if (steps > 0 && relations.length > 0 && kind < 7) {
        const [relation, { to, field, isList }] = pick(relations);
        const inner = () => filter(to, steps - 1, depth - 1);
        if (field !== undefined && !isList) members.push([relation, inner()]);
        else {
          const quantifier = pick(['some', 'none', 'every']);
          members.push([relation, { [quantifier]: quantifier !== 'every' && maybe(0.3) ? true : inner() }]);
        }
      } else members.push(condition(name));
    }
    return Object.fromEntries(members);
  };
  return filter;
}

/** Draws the keys of an order of a collection: by its own members, and by those of records that it refers to. */
export function drawSort({ next, pick, maybe }: Draw, collection: string, schema = TRACKER): string[] {
  const properties = propertiesIn(schema);
  const members = (name: string) => [
    'created_at',
    'updated_at',
    ...Object.entries(properties(name)).flatMap(([field, rules]) =>
      isIndexed(rules) && isOrdered(rules) && rules.type !== 'array' ? [field] : [],
    ),
  ];
  const related = Object.entries(schema.relations[collection]!).flatMap(
    ([relation, { to, field, isList }]) =>
      // Citus refuses such an order.
      field === undefined || isList || CITUS_URL !== ''
        ? []
        : members(to).map((member) => `${relation}.${member}`),
  );
  return Array.from({ length: next(4) }, () => {
    const name = pick(maybe(0.5) && related.length > 0 ? related : members(collection));
    return maybe(0.5) ? `-${name}` : name;
  });
}
