import { isDeepStrictEqual } from 'node:util';
import { type Condition, identityOf, type Operator } from '../list/condition.js';

/** Lists of conditions without those lists that another one includes: a record fulfils one of the rest if it fulfils one of all. */
export function alternativesOf(lists: readonly (readonly Condition[])[]): (readonly Condition[])[] {
  return lists.filter(
    (list, at) =>
      !lists.some(
        (other, place) => place !== at && implyAll(list, other) && (place < at || !implyAll(other, list)),
      ),
  );
}

/** Whether a record that fulfils all of some conditions fulfils all of others. False: it may not. */
export const implyAll = (all: readonly Condition[], others: readonly Condition[]): boolean =>
  others.every((other) => all.some((each) => implies(each, other)));

/** Whether a record that fulfils a condition fulfils another one. False: it may not. */
function implies(condition: Condition, other: Condition): boolean {
  if (condition.kind === 'relation' && other.kind === 'relation') {
    const { relation, quantifier, conditions } = condition;
    if (relation !== other.relation || quantifier !== other.quantifier) return false;
    const isFound = quantifier === 'one' || quantifier === 'some';
    return isFound ? implyAll(conditions, other.conditions) : isEqual(condition, other);
  }
  if (condition.kind === 'or') return condition.conditions.every((each) => implies(each, other));
  if (other.kind === 'or') return other.conditions.some((each) => implies(condition, each));
  if (condition.kind === 'and') return condition.conditions.some((each) => implies(each, other));
  if (other.kind === 'and') return other.conditions.every((each) => implies(condition, each));
  return isEqual(condition, other);
}

const isEqual = (condition: Condition, other: Condition): boolean =>
  isDeepStrictEqual(identityOf(condition), identityOf(other));

/** Whether an operator requires that the field, or an element of it, equals one of the values. */
const IS_EQUALITY: Readonly<Record<Operator, boolean>> = {
  eq: true,
  ne: false,
  lt: false,
  lte: false,
  gt: false,
  gte: false,
  between: false,
  in: true,
  nin: false,
  has: true,
  any: true,
  prefix: false,
  contains: false,
  null: false,
};

/** Whether a condition holds only for records that have to do with the caller. */
export function isAboutCaller(condition: Condition): boolean {
  switch (condition.kind) {
    case 'comparison':
      return condition.symbol !== undefined && IS_EQUALITY[condition.operator];
    case 'relation':
      return (
        (condition.quantifier === 'one' || condition.quantifier === 'some') &&
        condition.conditions.some(isAboutCaller)
      );
    case 'or':
      return condition.conditions.every(isAboutCaller);
    default:
      return condition.kind === 'and' && condition.conditions.some(isAboutCaller);
  }
}
