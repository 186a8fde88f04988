import type { JsonObject } from '../../json.js';
import { turn } from '../../limits/turn.js';
import {
  type ComparedColumn,
  comparedColumn,
  LIST_OPERATORS,
  type Operator,
  OWN_COLUMNS,
  operatorsOf,
} from '../../list/condition.js';
import { filterName, filterSegment } from '../../list/query-names.js';
import { operandSchema } from './described-schema.js';
import { type DescribedResource, typeName } from './type-names.js';

/** One comparison of a list, as a parameter of its own with a type, since most generated clients cannot send nested objects. */
interface Comparison {
  /** The names in brackets before the operator. */
  readonly segments: readonly string[];
  readonly operator: Operator;
  readonly column: ComparedColumn;
}

/**
 * The most parameters of a collection that compare fields of related records. Without a limit, the document would have the
 * fields of each collection as often as others refer to it, and be several times as long.
 */
export const MAX_RELATED = 100;

/**
 * The parameters that filter the list of each collection, by its name and by the names of their components: by its declared
 * fields, by the members of all records, and by the fields of records to which it refers.
 */
export async function filtersOf(
  resources: readonly DescribedResource[],
): Promise<ReadonlyMap<string, Readonly<Record<string, JsonObject>>>> {
  const found = new Map<string, Readonly<Record<string, JsonObject>>>();
  for (const resource of resources) {
    found.set(resource.name, filterComponents(resource, resources));
    await turn();
  }
  return found;
}

function filterComponents(
  resource: DescribedResource,
  resources: readonly DescribedResource[],
): Record<string, JsonObject> {
  const { one } = resource.types;
  const own = comparisonsOf(resource);
  const isDeclared = ({ segments: [name] }: Comparison) => !OWN_COLUMNS.has(name!);
  return {
    ...componentsOf(`${one}Filter`, own.filter(isDeclared)),
    ...componentsOf(
      'Filter',
      own.filter((each) => !isDeclared(each)),
    ),
    ...componentsOf(`${one}Related`, relatedComparisons(resource, resources)),
  };
}

function comparisonsOf(resource: DescribedResource): Comparison[] {
  return [...operatorsOf(resource)].flatMap(([field, operators]) => {
    const column = comparedColumn(resource, field)!;
    return operators.map((operator) => ({ segments: [filterSegment(field)], operator, column }));
  });
}

/** The comparisons of declared fields of records to which those of a collection refer. */
function relatedComparisons(
  resource: DescribedResource,
  resources: readonly DescribedResource[],
): readonly Comparison[] {
  const found = resource.related.flatMap(({ name, collection, field, isMany }) => {
    if (field === undefined) return [];
    const other = resources.find((each) => each.name === collection)!;
    // After the name of a relation that is a field as well, the name of an operator is about the field.
    const operators: readonly string[] = isMany ? [] : (operatorsOf(resource).get(name) ?? []);
    const start = [filterSegment(name), ...(isMany ? ['some'] : [])];
    return comparisonsOf(other)
      .filter(({ segments: [first] }) => !OWN_COLUMNS.has(first!) && !operators.includes(first!))
      .map((each) => ({ ...each, segments: [...start, ...each.segments] }));
  });
  return found.sort((a, b) => BY_USE.indexOf(a.operator) - BY_USE.indexOf(b.operator)).slice(0, MAX_RELATED);
}

function componentsOf(start: string, comparisons: readonly Comparison[]): Record<string, JsonObject> {
  return Object.fromEntries(
    comparisons.map((comparison, index) => {
      const parameter = parameterOf(comparison);
      // The number distinguishes fields whose names have the same letters.
      return [`${start}${index + 1}${typeName(parameter.name.slice('filter'.length))}`, parameter];
    }),
  );
}

function parameterOf({ segments, operator, column }: Comparison) {
  return {
    name: filterName(operator === 'eq' ? segments : [...segments, operator]),
    in: 'query',
    description: OWNERS[segments.length - 1]! + MEANINGS[operator],
    ...(LIST_OPERATORS.has(operator) ? { style: 'form', explode: true } : {}),
    schema: operandSchema(operator, column),
  };
}

/** The record that has the field, by the number of names before that of the field. */
const OWNERS: readonly string[] = ['', 'Of the related record: ', 'Of a related record: '];

/** The meanings of operators, in the order in which those of related records have parameters, until there are as many as permitted. */
const MEANINGS: Readonly<Record<Operator, string>> = {
  eq: 'The field has this value.',
  in: 'The field has one of these values. A value alone is split at its commas.',
  has: 'The array contains this value.',
  any: 'The array contains one of these values. A value alone is split at its commas.',
  gte: 'The field is greater or equal.',
  lte: 'The field is less or equal.',
  contains: 'The text contains this, in any letter case.',
  prefix: 'The text begins so.',
  gt: 'The field is greater.',
  lt: 'The field is less.',
  between: 'The field is at least the first value and at most the second.',
  null: '`true`: the field is missing; `false`: it is not.',
  ne: 'The field has another value.',
  nin: 'The field has a value, and none of these. A value alone is split at its commas.',
};
const BY_USE = Object.keys(MEANINGS);
