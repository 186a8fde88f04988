import { includes, type Principal, type ScopeRequirement } from '../auth/principal.js';
import { type DeclaredGrant, perResource, type Resource } from '../collection/resource.js';
import { forbidden } from '../errors/caller-errors.js';
import { invalidQuery } from '../errors/input-errors.js';
import type { JsonObject } from '../json.js';
import { filterOfBody } from '../list/body-values.js';
import type { ComparedColumn, Condition, RelationCondition, Symbolic } from '../list/condition.js';
import type { ReadSymbol } from '../list/read-filter.js';
import { readFilter } from '../list/read-filter.js';
import { relatedOf } from '../list/relations.js';

export const VERBS = ['read', 'create', 'update', 'delete'] as const;
export type Verb = (typeof VERBS)[number];

/** A permission of some callers for some records of a collection. */
export interface Grant extends DeclaredGrant {
  /** The place in the declaration, from 0 to 29: an integer of PostgreSQL has a bit for each. */
  readonly place: number;
  readonly verbs: ReadonlySet<Verb>;
  /** The conditions that all hold for a record. They may have symbols. */
  readonly conditions: readonly Condition[];
}

/** The access rules of a collection, or the grants for which its shorthands stand. Grants are alternatives. */
export interface Policy {
  readonly resource: Resource;
  readonly grants: readonly Grant[];
  /** The symbols of the conditions, by their places. Those that are compared with one column are one. */
  readonly symbols: readonly Symbolic[];
}

/** The policy of a collection. `resources` are all collections. Throws 400. */
export const policyOf = perResource((resource, resources: readonly Resource[]): Policy => {
  const readSymbol = symbolsOf(resources);
  return {
    resource,
    grants: resource.grants.map((grant, place) => readGrant(grant, place, resource, resources, readSymbol)),
    symbols: readSymbol.symbols,
  };
});

/** Throws 400, whose message names what is wrong in `where`. */
export function readGrant(
  declared: DeclaredGrant,
  place: number,
  resource: Resource,
  resources: readonly Resource[],
  readSymbol: ReadSymbol = symbolsOf(resources),
): Grant {
  const { where = {} } = declared;
  const others = (name: string) => ({
    resource: resources.find((each) => each.name === name)!,
    access: undefined,
  });
  const conditions = readFilter(filterOfBody(where), { resource }, others, readSymbol);
  return {
    ...declared,
    place,
    verbs: new Set(VERBS.filter((verb) => isAbout(declared, verb))),
    conditions,
  };
}

/** The symbols of some conditions. */
export const symbolsIn = (conditions: readonly Condition[]): Symbolic[] =>
  conditions.flatMap((each) =>
    each.kind === 'comparison' ? (each.symbol ?? []) : symbolsIn(each.conditions),
  );

/** Reads the symbols of a policy: `$caller`, `$caller.<field>`, `$claims.<name>` and `$now`. */
function symbolsOf(resources: readonly Resource[]): ReadSymbol & { readonly symbols: readonly Symbolic[] } {
  const symbols: Symbolic[] = [];
  const columns: ComparedColumn[] = [];
  const read = valuesOfCallers(resources);
  const readSymbol: ReadSymbol = (text, name, { column, ...compared }) => {
    const value = read(text, name);
    if (!value) return undefined;
    const known = symbols.find(
      ({ kind, name, isList, place }) =>
        columns[place] === column && kind === value.kind && name === value.name && isList === compared.isList,
    );
    if (known) return known;
    const symbol = { ...value, ...compared, place: columns.push(column) - 1 };
    symbols.push(symbol);
    return symbol;
  };
  return Object.assign(readSymbol, { symbols });
}

/** Reads the texts that stand for values of callers. */
function valuesOfCallers(resources: readonly Resource[]) {
  const callers = resources.find(({ owner }) => owner);
  return (text: string, name: string): Pick<Symbolic, 'kind' | 'name' | 'through'> | undefined => {
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

/** Whether a grant permits something. */
const isAbout = ({ can }: DeclaredGrant, verb: Verb): boolean =>
  can === 'all' || can === verb || (typeof can !== 'string' && (can.includes('all') || can.includes(verb)));

/** Whether the record decides what a caller may do with it. Otherwise scopes and the path decide before a record is read. */
export const isByRecord = ({ hasRules, callerField }: Resource): boolean =>
  hasRules || (callerField !== undefined && callerField !== 'id');

/** The ownership that is sufficient for a caller with the scope `self`, by the grants of a collection. */
export function ownershipOf(resource: Resource, verb: Verb): ScopeRequirement['ownership'] {
  if (isByRecord(resource)) return 'rules';
  return resource.grants.some((each) => each.where !== undefined && isAbout(each, verb)) ? 'path' : undefined;
}

/** Whether a caller may use a grant with records for which its conditions hold. A token's scopes and the rules both apply. */
export const appliesTo = (
  { scope, to }: DeclaredGrant,
  verb: Verb,
  resource: Resource,
  principal: Principal,
): boolean =>
  (scope === undefined || holdsScope(principal, scope)) &&
  (to !== undefined || mayUse(verb, resource, principal));

/** Whether the scopes of a caller permit it what the grants of a collection permit. */
function mayUse(verb: Verb, { scopes }: Resource, principal: Principal): boolean {
  const needed = verb === 'read' ? scopes.read : scopes.write;
  return holdsScope(principal, needed) || holdsScope(principal, scopes.write) || principal.scopes.has('self');
}

/** Whether a caller has a scope, or one that includes it. */
export const holdsScope = ({ scopes }: Principal, scope: string): boolean =>
  scopes.has('admin') || includes(scopes, scope);

/** The grants of a collection that a caller may use. */
export const grantsFor = <T extends DeclaredGrant>(
  { grants }: { readonly grants: readonly T[] },
  verb: Verb,
  resource: Resource,
  principal: Principal,
): readonly T[] =>
  grants.filter((grant) => isAbout(grant, verb) && appliesTo(grant, verb, resource, principal));

/** Whether a caller may read all records and fields of a collection. */
export const readsAll = (resource: Resource, principal: Principal): boolean =>
  grantsFor(resource, 'read', resource, principal).some(isUnlimited);

/** Whether a grant permits something to callers without a credential. */
export const isForAnyone = ({ grants }: Pick<Resource, 'grants'>, verb: Verb): boolean =>
  grants.some((grant) => grant.to && isAbout(grant, verb));

/** Whether everybody reads a collection without access rules. */
export const isPublic = (resource: Pick<Resource, 'grants' | 'hasRules'>): boolean =>
  !resource.hasRules && isForAnyone(resource, 'read');

/** Whether the scopes of a caller permit it to read records of a collection. Of one with access rules, these decide which. */
export const mayRead = (resource: Resource, principal: Principal): boolean =>
  resource.hasRules
    ? isForAnyone(resource, 'read') || mayUse('read', resource, principal)
    : grantsFor(resource, 'read', resource, principal).length > 0;

/** Whether relations of a collection lead, over any number of steps, to one that not everybody reads. */
export function leadsToLimited(resource: Resource, resources: readonly Resource[]): boolean {
  const reached = new Set([resource]);
  for (const each of reached)
    for (const { collection } of relatedOf(each)) {
      const other = resources.find(({ name }) => name === collection)!;
      if (!isPublic(other)) return true;
      reached.add(other);
    }
  return false;
}

/** The bits of some grants. */
export const bitsOf = (grants: readonly Grant[]): number =>
  grants.reduce((sum, { place }) => sum | (1 << place), 0);

/** The grants whose bits a mask has. */
export const grantsIn = ({ grants }: Policy, mask: number): readonly Grant[] =>
  grants.filter(({ place }) => (mask & (1 << place)) !== 0);

/** Some fields of a record; undefined: all. */
export type Fields = ReadonlySet<string> | undefined;

/** The fields of any of some grants. */
export function grantFields(grants: readonly Pick<Grant, 'fields'>[]): Fields {
  if (grants.some(({ fields }) => fields === undefined)) return undefined;
  return new Set(grants.flatMap(({ fields = [] }) => fields));
}

/** Whether the values of a caller change with the time. */
export const dependsOnTime = ({ symbols }: Policy): boolean => symbols.some(({ kind }) => kind === 'now');

/** Whether a grant is about all records and all fields. */
export const isUnlimited = ({ where, fields }: DeclaredGrant): boolean =>
  fields === undefined && (where === undefined || Object.keys(where as JsonObject).length === 0);

/** Whether the creation of a record can change for which records grants hold: no record refers to it, but it may refer to others. */
export const isChangedByCreation = (
  grants: readonly Pick<Grant, 'conditions'>[],
  { name }: Resource,
): boolean =>
  grants.some(({ conditions }) =>
    relationsIn(conditions).some(({ own, other }) => own === undefined && other.name === name),
  );

/** Whether any of some conditions is about records of one of these collections that relations lead to. */
export const leadsTo = (conditions: readonly Condition[], names: readonly string[]): boolean =>
  relationsIn(conditions).some(({ other }) => names.includes(other.name));

/** The relations of some conditions, over any number of steps. */
export const relationsIn = (conditions: readonly Condition[]): RelationCondition[] =>
  conditions.flatMap((each) => {
    if (each.kind === 'comparison') return [];
    const further = relationsIn(each.conditions);
    return each.kind === 'relation' ? [each, ...further] : further;
  });

/** Throws 403 unless the scopes of a caller permit it to read all records of a collection. */
export function requireReadable(resource: Resource, principal: Principal): void {
  if (!readsAll(resource, principal)) throw forbidden([resource.scopes.read]);
}
