import type { DeclaredGrant, Resource } from '../collection/resource.js';
import { invalidQuery } from '../errors/input-errors.js';
import type { Condition, Symbolic } from '../list/condition.js';
import { readFilter } from '../list/filter.js';
import type { ReadSymbol } from '../list/filter-values.js';
import { addFilter } from '../list/json-filter.js';
import { includes, type Principal } from '../principal.js';

export const VERBS = ['read', 'create', 'update', 'delete'] as const;
export type Verb = (typeof VERBS)[number];

/** The most grants of a collection: an integer of PostgreSQL has a bit for each. */
export const MAX_GRANTS = 30;

/** A permission of some callers for some records of a collection. */
export interface Grant {
  /** The place in the declaration, from 0. */
  readonly place: number;
  readonly verbs: ReadonlySet<Verb>;
  readonly declared: DeclaredGrant;
  /** The conditions that all hold for a record. They may have symbols. */
  readonly conditions: readonly Condition[];
  /** The symbols of the conditions. */
  readonly symbols: readonly Symbolic[];
  /** The fields that the grant shows or sets; undefined: all. */
  readonly fields: readonly string[] | undefined;
  /** The scope that the caller needs; undefined: none of its own. */
  readonly scope: string | undefined;
  /** Whether the grant is for everybody, with or without a credential. */
  readonly isForAnyone: boolean;
}

/** The access rules of a collection. Grants are alternatives. */
export interface Rules {
  readonly grants: readonly Grant[];
}

const known = new WeakMap<Resource, Rules | undefined>();

/** The access rules of a collection; undefined: its scopes alone decide. `resources` are all collections. Throws 400. */
export function rulesOf(resource: Resource, resources: readonly Resource[]): Rules | undefined {
  if (!known.has(resource)) known.set(resource, readRules(resource, resources));
  return known.get(resource);
}

function readRules(resource: Resource, resources: readonly Resource[]): Rules | undefined {
  const { access } = resource;
  if (!access) return undefined;
  return { grants: access.map((grant, place) => readGrant(grant, place, resource, resources)) };
}

/** Throws 400, whose message names what is wrong in `where`. */
export function readGrant(
  declared: DeclaredGrant,
  place: number,
  resource: Resource,
  resources: readonly Resource[],
): Grant {
  const { where = {}, fields, scope, to } = declared;
  const parameters = new URLSearchParams();
  addFilter(parameters, where);
  const others = (name: string) => ({
    resource: resources.find((each) => each.name === name)!,
    access: undefined,
  });
  const conditions = readFilter(parameters, resource, others, symbolsOf(resources));
  return {
    place,
    declared,
    verbs: new Set(verbsOf(declared)),
    conditions,
    symbols: conditions.flatMap(symbolsIn),
    fields,
    scope,
    isForAnyone: to === 'anyone',
  };
}

const verbsOf = ({ can }: DeclaredGrant): readonly Verb[] =>
  [can].flat().flatMap((each) => (each === 'all' ? VERBS : [each]));

const symbolsIn = (condition: Condition): Symbolic[] =>
  condition.kind === 'comparison' ? [condition.symbol ?? []].flat() : condition.conditions.flatMap(symbolsIn);

/** Reads `$caller`, `$caller.<field>`, `$claims.<name>` and `$now`. */
function symbolsOf(resources: readonly Resource[]): ReadSymbol {
  const callers = resources.find(({ owner }) => owner);
  return (text, name) => {
    if (!text.startsWith('$')) return undefined;
    const [, first, second] = /^\$(\w+)(?:\.(.+))?$/s.exec(text) ?? [];
    if (text === '$now') return { kind: 'now', name: '', through: undefined };
    if (text === '$caller') return { kind: 'subject', name: '', through: undefined };
    if (first === 'claims' && second !== undefined)
      return { kind: 'claim', name: second, through: undefined };
    const column = first === 'caller' && second !== undefined ? callers?.columns.get(second) : undefined;
    if (first === 'caller' && second !== undefined && !column)
      throw invalidQuery(
        name,
        `${text} names no field of ${callers?.name ?? 'callers'} that lists can be filtered by`,
      );
    if (!column)
      throw invalidQuery(
        name,
        `${text} is unknown: there are $caller, $caller.<field>, $claims.<name> and $now`,
      );
    const through = { table: callers!.table, column: column.name, type: column.type };
    return { kind: 'user', name: second!, through };
  };
}

/** Whether a caller may use a grant with records for which its conditions hold. A token's scopes and the rules both apply. */
export function appliesTo(
  { scope, isForAnyone }: Pick<Grant, 'scope' | 'isForAnyone'>,
  verb: Verb,
  { scopes }: Resource,
  principal: Principal,
): boolean {
  const holds = (name: string) => principal.scopes.has('admin') || includes(principal.scopes, name);
  if (scope !== undefined && !holds(scope)) return false;
  if (isForAnyone) return true;
  const needed = verb === 'read' ? scopes.read : scopes.write;
  return needed === undefined || holds(needed) || holds(scopes.write) || principal.scopes.has('self');
}

/**
 * The grants to read all fields, in the order in which a read examines them, until one holds: first those that say at little cost
 * whether the caller may change or delete the record as well.
 */
export function wholeReads({ grants }: Rules): readonly Grant[] {
  const whole = grants.filter(({ verbs, fields }) => verbs.has('read') && !fields);
  const isCheap = (condition: Condition) => condition.kind === 'comparison' && !condition.symbol?.through;
  const isFirst = ({ verbs, conditions }: Grant) =>
    (verbs.has('update') || verbs.has('delete')) && conditions.every(isCheap);
  return [...whole.filter(isFirst), ...whole.filter((grant) => !isFirst(grant))];
}

/** The grants that a caller may use. */
export const grantsFor = (
  { grants }: Rules,
  verb: Verb,
  resource: Resource,
  principal: Principal,
): readonly Grant[] =>
  grants.filter((grant) => grant.verbs.has(verb) && appliesTo(grant, verb, resource, principal));

/**
 * Whether a grant of a collection permits something with records that fulfil its conditions, if there are any: to a caller, or to
 * anybody at all. Without access rules the scopes alone decide.
 */
export const mightPermit = (resource: Resource, verb: Verb, principal?: Principal): boolean =>
  resource.access === undefined ||
  resource.access.some(
    (grant) =>
      verbsOf(grant).includes(verb) &&
      (!principal ||
        appliesTo({ scope: grant.scope, isForAnyone: grant.to === 'anyone' }, verb, resource, principal)),
  );

/** The grants whose bits a mask has. */
export const grantsIn = ({ grants }: Rules, mask: number): readonly Grant[] =>
  grants.filter(({ place }) => (mask & (1 << place)) !== 0);

/** Whether the values of a caller change with the time. */
export const dependsOnTime = ({ grants }: Rules): boolean =>
  grants.some(({ symbols }) => symbols.some(({ kind }) => kind === 'now'));

/** Whether a grant is about all records and all fields. */
export const isUnlimited = ({ conditions, fields }: Grant): boolean =>
  conditions.length === 0 && fields === undefined;

/** Whether the creation of a record of a collection can change what the grants for a verb permit with other records. */
export const isChangedByCreation = ({ grants }: Rules, verb: Verb, { name }: Resource): boolean =>
  grants.some(({ verbs, conditions }) => verbs.has(verb) && conditions.some((each) => findsNew(each, name)));

/** No record refers to one that is new, but a new record may refer to others. */
const findsNew = (condition: Condition, name: string): boolean =>
  condition.kind !== 'comparison' &&
  ((condition.kind === 'relation' && condition.own === undefined && condition.other.name === name) ||
    condition.conditions.some((each) => findsNew(each, name)));
