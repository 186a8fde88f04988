import QuickLRU from 'quick-lru';
import type { Principal } from '../auth/principal.js';
import { arrayLiteral } from '../db/statements.js';
import type { Json } from '../json.js';
import { member } from '../json.js';
import type { Access, Symbolic, SymbolValues } from '../list/condition.js';
import { parseUuid } from '../uuid.js';
import { alternativesOf, isAboutCaller } from './implied-conditions.js';
import {
  bitsOf,
  dependsOnTime,
  type Grant,
  grantsFor,
  grantsIn,
  isUnlimited,
  type Rules,
  symbolsIn,
  type Verb,
} from './rules.js';

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

const callers = new WeakMap<Rules, WeakMap<Principal, Caller>>();

/** The grants of a policy that a caller may use, and its values for the symbols: as of now, if they change with the time. */
export function callerIn(rules: Rules, principal: Principal): Caller {
  const known = callers.get(rules) ?? new WeakMap<Principal, Caller>();
  callers.set(rules, known);
  const caller = known.get(principal) ?? readCaller(rules, principal);
  if (!dependsOnTime(rules)) known.set(principal, caller);
  return caller;
}

function readCaller(rules: Rules, principal: Principal): Caller {
  const bits = (verb: Verb) => bitsOf(grantsFor(rules, verb, rules.resource, principal));
  const grants = {
    read: bits('read'),
    create: bits('create'),
    update: bits('update'),
    delete: bits('delete'),
  };
  const values = rules.symbols.map((symbol) => valueFor(symbol, principal) ?? null);
  return { grants, values, key: JSON.stringify([grants, values]) };
}

/** The text of the value that a caller has for a symbol; of several values, an array of PostgreSQL. */
function valueFor({ kind, name, isList, read }: Symbolic, principal: Principal): string | undefined {
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

/**
 * The records and fields of a collection that a caller may read, by the grants that count; undefined: all. Equal callers have one
 * object.
 */
export function readAccess(
  rules: Rules,
  principal: Principal,
  counts: (grant: Grant) => boolean = () => true,
): Access | undefined {
  const caller = callerIn(rules, principal);
  const grants = grantsIn(rules, caller.grants.read).filter(counts);
  if (grants.some(isUnlimited)) return undefined;
  const accesses = known.get(rules) ?? new QuickLRU({ maxSize: MAX_KNOWN / 2 });
  known.set(rules, accesses);
  const symbols = symbolsIn(grants.flatMap(({ conditions }) => conditions));
  const values = caller.values.map((value, place) =>
    symbols.some((each) => each.place === place) ? value : null,
  );
  const key = JSON.stringify([bitsOf(grants), values]);
  const access = accesses.get(key) ?? accessBy(grants, values);
  accesses.set(key, access);
  return access;
}

function accessBy(grants: readonly Grant[], values: SymbolValues): Access {
  const alternatives = alternativesOf(grants.map(({ conditions }) => conditions));
  const isSelective = alternatives.every((conditions) => conditions.some(isAboutCaller));
  return { grants, alternatives, isSelective, values };
}
