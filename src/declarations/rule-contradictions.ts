import type { Resource } from '../collection/resource.js';
import type { Comparison, Condition } from '../list/condition.js';

/** Why conditions that must all hold for a record never do, in words; undefined: they may. Symbols may have any value. */
export function contradictionIn(conditions: readonly Condition[], resource: Resource): string | undefined {
  const all = conditions.flatMap(parts);
  const comparisons = all.filter((each): each is Comparison => each.kind === 'comparison' && !each.symbol);
  for (const field of new Set(comparisons.map((each) => each.field))) {
    const each = comparisons.filter((other) => other.field === field);
    const isRequired = resource.schema.required.includes(field);
    if (!each[0]!.column.type.endsWith('[]') && isImpossible(each, isRequired)) return textOf(each);
  }
  for (const each of all) {
    const reason = contradictionWithin(each, resource);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

const parts = (condition: Condition): Condition[] =>
  condition.kind === 'and' ? condition.conditions.flatMap(parts) : [condition];

function contradictionWithin(condition: Condition, resource: Resource): string | undefined {
  if (condition.kind === 'or') {
    const reasons = condition.conditions.map((each) => contradictionIn([each], resource));
    return reasons.every((reason) => reason !== undefined) ? reasons.join(', and ') : undefined;
  }
  if (condition.kind !== 'relation') return undefined;
  const { quantifier, conditions, other } = condition;
  return quantifier === 'one' || quantifier === 'some' ? contradictionIn(conditions, other) : undefined;
}

/** Whether no value of a field fulfils all comparisons. Of values in an order that is not known here, some might. */
function isImpossible(comparisons: readonly Comparison[], isRequired: boolean): boolean {
  const of = (...operators: readonly string[]) =>
    comparisons.filter(({ operator }) => operators.includes(operator));
  const mustBeAbsent = of('null').some(({ values }) => values[0] === 'true');
  if (mustBeAbsent && (isRequired || comparisons.length > of('null').length)) return true;
  if (mustBeAbsent && of('null').some(({ values }) => values[0] === 'false')) return true;
  const lists = of('eq', 'in').map(({ values }) => values);
  const excluded = of('ne', 'nin').flatMap(({ values }) => values);
  const [first, ...others] = lists;
  const left = first?.filter(
    (value) => others.every((list) => list.includes(value)) && !excluded.includes(value),
  );
  if (left?.length === 0) return true;
  const { type } = comparisons[0]!.column;
  if (type !== 'double precision') return false;
  const numbers = (operator: string, at = 0) => of(operator).map(({ values }) => Number(values[at]));
  const min = Math.max(...numbers('gte'), ...numbers('gt'), ...numbers('between'));
  const max = Math.min(...numbers('lte'), ...numbers('lt'), ...numbers('between', 1));
  const isStrict = numbers('gt').includes(min) || numbers('lt').includes(max);
  if (min > max || (min === max && isStrict)) return true;
  return left?.every((value) => Number(value) < min || Number(value) > max) ?? false;
}

const textOf = (comparisons: readonly Comparison[]): string =>
  comparisons.map(({ field, operator, values }) => `${field} ${operator} ${values.join(', ')}`).join(' and ');
