import type { Json, JsonObject } from '../../src/json.js';

/** Records by their collections. */
export type Data = Readonly<Record<string, readonly JsonObject[]>>;

/** A relation of a collection: the field that refers to another one, perhaps an array, or the fields of the other one that refer to it. */
export interface RelationOf {
  readonly to: string;
  readonly field?: string;
  readonly isList?: boolean;
  readonly referring?: readonly string[];
}

export type Relations = Readonly<Record<string, Readonly<Record<string, RelationOf>>>>;

/** Whether a record of a collection fulfils a filter, as docs/lists.md describes it: the language in plain JavaScript. */
export function fulfils(
  data: Data,
  relations: Relations,
  collection: string,
  record: JsonObject,
  filter: JsonObject,
): boolean {
  const all = (of: string, each: JsonObject, conditions: JsonObject) =>
    fulfils(data, relations, of, each, conditions);
  return Object.entries(filter).every(([name, given]) => {
    if (name === 'and') return (given as JsonObject[]).every((each) => all(collection, record, each));
    if (name === 'or') return (given as JsonObject[]).some((each) => all(collection, record, each));
    if (name === 'not') return !all(collection, record, given as JsonObject);
    const relation = relations[collection]?.[name];
    // Of a name that a field and a relation have, operators are about the field.
    if (!relation || isComparison(given!)) return compares(record[name.replace(/^\\/, '')], given!);
    const others = data[relation.to]!;
    const idsIn = (each: JsonObject, field: string) => [each[field] ?? []].flat();
    if (relation.field !== undefined && !relation.isList) {
      const referred = others.find(({ id }) => id === record[relation.field!]);
      return referred !== undefined && all(relation.to, referred, given as JsonObject);
    }
    const related =
      relation.field === undefined
        ? others.filter((each) =>
            relation.referring!.some((field) => idsIn(each, field).includes(record.id!)),
          )
        : others.filter(({ id }) => idsIn(record, relation.field!).includes(id!));
    return Object.entries(given as JsonObject).every(([quantifier, conditions]) => {
      const holds = (each: JsonObject) =>
        conditions === true || all(relation.to, each, conditions as JsonObject);
      if (quantifier === 'every') return related.every(holds);
      return related.some(holds) === (quantifier === 'some');
    });
  });
}

/** Compares the records of a collection by keys of `sort`: one without a value is last in both directions, and ties are broken by id. */
export function orderOf(
  data: Data,
  relations: Relations,
  collection: string,
  sort: readonly string[],
): (a: JsonObject, b: JsonObject) => number {
  const sortValue = (record: JsonObject, name: string): Json | undefined => {
    if (Object.hasOwn(record, name) || !name.includes('.')) return record[name];
    const [relation, member] = name.split('.') as [string, string];
    const { to, field } = relations[collection]![relation]!;
    return data[to]!.find(({ id }) => id === record[field!])?.[member];
  };
  const signs = sort.map((key) => (key.startsWith('-') ? -1 : 1));
  return (a, b) => {
    for (const [at, key] of sort.entries()) {
      const name = key.replace(/^-/, '');
      // The time of creation is in the id, which is unique.
      if (name === 'created_at') return (a.id! < b.id! ? -1 : 1) * signs[at]!;
      const [left, right] = [sortValue(a, name), sortValue(b, name)];
      if (left === right) continue;
      if (left === undefined || right === undefined) return left === undefined ? 1 : -1;
      return (left! < right! ? -1 : 1) * signs[at]!;
    }
    return (a.id! < b.id! ? -1 : 1) * (signs.at(-1) ?? 1);
  };
}

const OPERATORS = /^(eq|ne|lte?|gte?|between|n?in|has|any|prefix|contains|null)$/;

const isComparison = (given: Json): boolean =>
  typeof given !== 'object' || Object.keys(given as JsonObject).every((name) => OPERATORS.test(name));

function compares(value: Json | undefined, given: Json): boolean {
  const operators = typeof given === 'object' ? (given as JsonObject) : { eq: given };
  return Object.entries(operators).every(([operator, operand]) => compare(value, operator, operand!));
}

function compare(value: Json | undefined, operator: string, operand: Json): boolean {
  if (operator === 'null') return (value === undefined) === operand;
  if (value === undefined) return false;
  const list = operand as Json[];
  const order = (other: Json) => (value === other ? 0 : value! < other! ? -1 : 1);
  switch (operator) {
    case 'eq':
      return order(operand) === 0;
    case 'ne':
      return order(operand) !== 0;
    case 'lt':
      return order(operand) < 0;
    case 'lte':
      return order(operand) <= 0;
    case 'gt':
      return order(operand) > 0;
    case 'gte':
      return order(operand) >= 0;
    case 'between':
      return order(list[0]!) >= 0 && order(list[1]!) <= 0;
    case 'in':
      return list.some((each) => order(each) === 0);
    case 'nin':
      return list.every((each) => order(each) !== 0);
    case 'has':
      return (value as Json[]).includes(operand);
    case 'any':
      return list.some((each) => (value as Json[]).includes(each));
    case 'prefix':
      return (value as string).startsWith(operand as string);
    default:
      return (value as string).toLowerCase().includes((operand as string).toLowerCase());
  }
}
