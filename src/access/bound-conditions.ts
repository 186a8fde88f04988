import QuickLRU from 'quick-lru';
import type { Principal } from '../auth/principal.js';
import type { Resource } from '../collection/resource.js';
import { arrayLiteral } from '../db/statements.js';
import type { Json } from '../json.js';
import { member } from '../json.js';
import type { Access, ComparedColumn, Condition, Symbolic } from '../list/condition.js';
import { parseUuid } from '../uuid.js';
import { alternativesOf, isAboutCaller } from './implied-conditions.js';
import { NEVER } from './masked-conditions.js';
import { type Grant, grantsFor, isUnlimited, type Rules } from './rules.js';

/** The most values of one claim. A condition on more does not hold. */
const MAX_CLAIM_VALUES = 1000;

/** A condition with values in place of its symbols. A comparison with a value that the caller does not have never holds. */
export function bound(
  condition: Condition,
  find: (symbol: Symbolic, column: ComparedColumn) => string | undefined,
): Condition {
  if (condition.kind !== 'comparison')
    return {
      ...condition,
      conditions: condition.conditions.map((each) => bound(each, find)),
    } as Condition;
  const { symbol, ...comparison } = condition;
  if (!symbol) return condition;
  const value = find(symbol, comparison.column);
  if (value === undefined) return NEVER;
  const { through, isList } = symbol;
  return { ...comparison, values: [value], isArray: isList, through };
}

/** The text of the value that a caller has for a symbol; of several values, an array of PostgreSQL. */
export function valueFor({ kind, name, isList, read }: Symbolic, principal: Principal): string | undefined {
  const isKnown = principal.scheme !== 'none';
  if (kind === 'user') return isKnown ? parseUuid(principal.subject) : undefined;
  const value =
    kind === 'now' ? new Date().toISOString() : isKnown ? valueOfCaller(kind, name, principal) : undefined;
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

const valueOfCaller = (
  kind: 'subject' | 'claim',
  name: string,
  { subject, claims = {} }: Principal,
): Json | undefined => (kind === 'subject' ? subject : member(claims, name));

/** The most callers of one collection whose access is known. */
const MAX_KNOWN = 1000;

/** The access by some rules, by the grants that a caller may use and the values that it has for the symbols. */
const known = new WeakMap<Rules, QuickLRU<string, Access>>();

/** The records and fields of a collection that a caller may read; undefined: all. Equal callers have one object. */
export function readAccess(
  rules: Rules | undefined,
  resource: Resource,
  principal: Principal,
): Access | undefined {
  if (!rules) return undefined;
  const grants = grantsFor(rules, 'read', resource, principal);
  if (grants.some(isUnlimited)) return undefined;
  const values = new Map(
    grants.flatMap(({ symbols }) => symbols.map((symbol) => [symbol, valueFor(symbol, principal)] as const)),
  );
  const accesses = known.get(rules) ?? new QuickLRU({ maxSize: MAX_KNOWN / 2 });
  known.set(rules, accesses);
  const key = JSON.stringify([
    grants.map(({ place }) => place),
    ...[...values.values()].map((value) => value ?? null),
  ]);
  const access = accesses.get(key) ?? accessOf(grants, values);
  accesses.set(key, access);
  return access;
}

function accessOf(grants: readonly Grant[], values: ReadonlyMap<Symbolic, string | undefined>): Access {
  const boundAll = (conditions: readonly Condition[]) =>
    conditions.map((each) => bound(each, (symbol) => values.get(symbol)));
  const alternatives = alternativesOf(grants.map(({ conditions }) => conditions));
  return {
    grants: grants.map(({ conditions, fields }) => ({ conditions: boundAll(conditions), fields })),
    alternatives: alternatives.map(boundAll),
    isSelective: alternatives.every((conditions) => conditions.some(isAboutCaller)),
  };
}
