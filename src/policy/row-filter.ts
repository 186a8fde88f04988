import { isDeepStrictEqual } from 'node:util';
import QuickLRU from 'quick-lru';
import type { Principal } from '../auth/principal.js';
import type { Reference, Resource } from '../collection/resource.js';
import { arrayLiteral } from '../db/statements.js';
import { type Json, member } from '../json.js';
import {
  type Access,
  type Condition,
  conditionIdentity,
  EQUALITY_OPERATORS,
  type Symbolic,
  type SymbolValues,
} from '../list/condition.js';
import { parseUuid } from '../uuid.js';
import {
  bitsOf,
  dependsOnTime,
  type Grant,
  grantsFor,
  grantsIn,
  isUnlimited,
  type Policy,
  symbolsIn,
  type Verb,
} from './policy.js';

/** The most values of one claim. A condition on more does not hold. */
const MAX_CLAIM_VALUES = 1000;

/** A caller as a policy sees it. */
export interface Caller {
  /** The bits of the grants that the caller may use, by verb. */
  readonly grants: Readonly<Record<Verb, number>>;
  readonly values: SymbolValues;
  /** A text that is equal for equal callers. */
  readonly key: string;
}

const callers = new WeakMap<Policy, WeakMap<Principal, Caller>>();

/** The grants of a policy that a caller may use, and its values for the symbols: as of now, if they change with the time. */
export function callerIn(policy: Policy, principal: Principal): Caller {
  const known = callers.get(policy) ?? new WeakMap<Principal, Caller>();
  callers.set(policy, known);
  const caller = known.get(principal) ?? readCaller(policy, principal);
  if (!dependsOnTime(policy)) known.set(principal, caller);
  return caller;
}

function readCaller(policy: Policy, principal: Principal): Caller {
  const bits = (verb: Verb) => bitsOf(grantsFor(policy, verb, policy.resource, principal));
  const grants = {
    read: bits('read'),
    create: bits('create'),
    update: bits('update'),
    delete: bits('delete'),
  };
  const values = policy.symbols.map((symbol) => valueFor(symbol, principal) ?? null);
  return { grants, values, key: JSON.stringify([grants, values]) };
}

/** The text of the value that a caller has for a symbol; of several values, an array of PostgreSQL. */
function valueFor({ kind, name, isList, read }: Symbolic, principal: Principal): string | undefined {
  const isKnown = principal.scheme !== 'none';
  if (kind === 'user') return isKnown ? parseUuid(principal.subject) : undefined;
  const ofCaller = () => (kind === 'subject' ? principal.subject : member(principal.claims ?? {}, name));
  const value = kind === 'now' ? new Date().toISOString() : isKnown ? ofCaller() : undefined;
  if (value === undefined || value === null) return undefined;
  // A date has no time.
  if (kind === 'now') return read(String(value)) ?? read(String(value).slice(0, 10));
  if (!isList) return typeof value === 'object' ? undefined : read(String(value));
  const given: readonly Json[] = Array.isArray(value) ? value : [value];
  if (given.length > MAX_CLAIM_VALUES) return undefined;
  const texts = given.flatMap((each) =>
    each === null || typeof each === 'object' ? [] : (read(String(each)) ?? []),
  );
  return arrayLiteral(texts);
}

/** The most callers of one collection whose access is known. */
const MAX_KNOWN = 1000;

/** The access by some rules, by the grants that a caller may use and the values that it has for the symbols. */
const known = new WeakMap<Policy, QuickLRU<string, Access>>();

/**
 * The records and fields of a collection that a caller may read, by its grants or some of these; undefined: all. Equal callers have
 * one object.
 */
export function readAccess(
  policy: Policy,
  principal: Principal,
  grants: readonly Grant[] = grantsIn(policy, callerIn(policy, principal).grants.read),
): Access | undefined {
  const caller = callerIn(policy, principal);
  if (grants.some(isUnlimited)) return undefined;
  const accesses = known.get(policy) ?? new QuickLRU({ maxSize: MAX_KNOWN / 2 });
  known.set(policy, accesses);
  const symbols = symbolsIn(grants.flatMap(({ conditions }) => conditions));
  const values = caller.values.map((value, place) =>
    symbols.some((each) => each.place === place) ? value : null,
  );
  const key = JSON.stringify([bitsOf(grants), values]);
  const shape = [
    bitsOf(grants),
    ...values.map((value) => (value === null ? '' : values.indexOf(value))),
  ].join();
  const access = accesses.get(key) ?? accessBy(grants, values, shape);
  accesses.set(key, access);
  return access;
}

/** The references of a collection that a caller sets: others name the record that the service chooses. */
export const givenReferences = ({ references, set }: Resource): readonly Reference[] =>
  references.filter(({ field }) => !set.some((each) => each.field === field));

/**
 * The grants of a policy for the records to which a caller may refer by a field of another collection: those to read. A caller that
 * may write its own records alone refers with `restrict` to its own: otherwise it could prevent others from deleting theirs. Access
 * rules say for themselves which these are.
 */
export function referableGrants(
  resource: Resource,
  { onDelete }: Reference,
  policy: Policy,
  principal: Principal,
): readonly Grant[] {
  const readable = grantsIn(policy, callerIn(policy, principal).grants.read);
  const isAny =
    onDelete !== 'restrict' ||
    resource.hasRules ||
    policy.resource.hasRules ||
    grantsFor(resource, 'update', resource, principal).some(isUnlimited);
  return isAny ? readable : readable.filter(({ where }) => where !== undefined);
}

function accessBy(grants: readonly Grant[], values: SymbolValues, shape: string): Access {
  const alternatives = alternativesOf(grants.map(({ conditions }) => conditions));
  const isSelective = alternatives.every((conditions) => conditions.some(isAboutCaller));
  return { grants, alternatives, isSelective, values, shape };
}

/** Lists of conditions without those lists that another one includes: a record fulfils one of the rest if it fulfils one of all. */
function alternativesOf(lists: readonly (readonly Condition[])[]): (readonly Condition[])[] {
  return lists.filter(
    (list, at) =>
      !lists.some(
        (other, place) => place !== at && implyAll(list, other) && (place < at || !implyAll(other, list)),
      ),
  );
}

/** Whether a record that fulfils all of some conditions fulfils all of others. False: it may not. */
const implyAll = (all: readonly Condition[], others: readonly Condition[]): boolean =>
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
  isDeepStrictEqual(conditionIdentity(condition), conditionIdentity(other));

/** Whether a condition holds only for records that have to do with the caller. */
function isAboutCaller(condition: Condition): boolean {
  switch (condition.kind) {
    case 'comparison':
      return condition.symbol !== undefined && EQUALITY_OPERATORS.has(condition.operator);
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
