import type { Resource } from '../collection/resource.js';
import { invalidQuery } from '../errors/input-errors.js';
import {
  type Combination,
  type Condition,
  type Operator,
  operatorsOf,
  QUANTIFIERS,
  type Quantifier,
  type RelationCondition,
} from './condition.js';
import { comparisonOf, type ReadSymbol } from './filter-values.js';
import { COMBINATIONS, type FilterPlace, type FilterTree, unescapeName } from './query-names.js';
import { type Accessible, type Others, type Related, relatedOf, requireFieldAccess } from './relations.js';

/** The most relations in one condition, one after the other. */
const MAX_STEPS = 5;
/** The most relations in one filter, each of which the database joins. */
const MAX_RELATIONS = 20;

/**
 * Reads conditions, as `filter[price][gte]=10`, `filter[or][0][status]=open`, `filter[author][name]=Ann` and
 * `filter[books][some][title]=Dune`. Without `others`, no relations are known. Throws 400 that names what is valid, 403.
 */
export function readFilter(
  filter: FilterTree,
  records: Accessible,
  others?: Others,
  symbols?: ReadSymbol,
): Condition[] {
  // Most lists have no conditions, and the table of operators takes longer than the rest of their parameters.
  if (filter.size === 0) return [];
  return conditionsOf(filter, new Scope(records, others, symbols, 0, { relations: 0 }));
}

/** The collection about whose records conditions are. */
class Scope {
  readonly operators: ReadonlyMap<string, readonly Operator[]>;
  readonly resource: Resource;

  constructor(
    readonly records: Accessible,
    readonly others: Others | undefined,
    readonly symbols: ReadSymbol | undefined,
    readonly steps: number,
    /** The relations of the whole filter. */
    readonly used: { relations: number },
  ) {
    this.resource = records.resource;
    this.operators = operatorsOf(this.resource);
  }

  relation(name: string): Related | undefined {
    return this.others && relatedOf(this.resource).find((each) => each.name === name);
  }

  /** The scope of the records of a relation. Throws 400, 403. */
  of({ collection }: Related, { name }: FilterPlace): Scope {
    if (this.steps === MAX_STEPS) throw invalidQuery(name, `leads over more than ${MAX_STEPS} relations`);
    if (++this.used.relations > MAX_RELATIONS)
      throw invalidQuery('filter', `has more than ${MAX_RELATIONS} relations`);
    return new Scope(this.others!(collection), this.others, this.symbols, this.steps + 1, this.used);
  }

  get names(): string {
    const relations = this.others ? relatedOf(this.resource).map(({ name }) => name) : [];
    return listed([...new Set([...this.operators.keys(), ...relations])]);
  }
}

const listed = (names: readonly string[]) => (names.length === 0 ? 'none' : names.join(', '));

/** Conditions that all hold. */
function conditionsOf(members: FilterTree, scope: Scope): Condition[] {
  return [...members].flatMap(([segment, node]): Condition | Condition[] =>
    COMBINATIONS.has(segment) && !isOfField(segment, node, scope)
      ? combinationOf(segment as Combination['kind'], node, scope)
      : fieldConditions(unescapeName(segment), node, scope),
  );
}

/** Whether a place is about a field that has the name of a combination: it has a value or operators. */
function isOfField(segment: string, { members }: FilterPlace, { operators }: Scope): boolean {
  const known: readonly string[] | undefined = operators.get(segment);
  return known !== undefined && [...members.keys()].every((name) => known.includes(name));
}

/** `or` and `and` have numbered alternatives, each with conditions that all hold; `not` has such conditions itself. */
function combinationOf(kind: Combination['kind'], node: FilterPlace, scope: Scope): Combination {
  requireMembers(node, kind === 'not' ? 'the name of a field' : 'a number, as in filter[or][0][field]');
  if (kind === 'not') return { kind, conditions: conditionsOf(node.members, scope) };
  const groups = [...node.members].map(([index, group]) => {
    if (!/^\d{1,3}$/.test(index))
      throw invalidQuery(group.name, `must have a number after ${kind}, as in filter[${kind}][0][field]`);
    requireMembers(group, 'the name of a field');
    return allOf(conditionsOf(group.members, scope));
  });
  return { kind, conditions: groups };
}

const allOf = (conditions: readonly Condition[]): Condition =>
  conditions.length === 1 ? conditions[0]! : { kind: 'and', conditions };

function requireMembers({ name, values, members }: FilterPlace, follows: string): void {
  if (values.length > 0 || members.size === 0) throw invalidQuery(name, `must be followed by ${follows}`);
}

/** The conditions on a field, or on the records of a relation. For a name of both, what follows decides. */
function fieldConditions(field: string, node: FilterPlace, scope: Scope): Condition[] {
  const operators = scope.operators.get(field);
  const relation = scope.relation(field);
  if (!operators && !relation)
    throw invalidQuery(node.name, `names no field that can be filtered by: there are ${scope.names}`);
  const read = operators ? field : relation!.field;
  if (read !== undefined) requireFieldAccess(scope.records, read);
  const found: Condition[] = [];
  if (node.values.length > 0) {
    if (!operators)
      throw invalidQuery(
        node.name,
        `names a relation: ${relation!.isMany ? QUANTIFIERS.join(', ') : 'a field'} must follow`,
      );
    found.push(comparisonOf(scope, field, 'eq', { ...node, members: NONE }, operators));
  }
  const ofRelation = new Map<string, FilterPlace>();
  for (const [segment, member] of node.members)
    if (operators && (!relation || (operators as readonly string[]).includes(segment)))
      found.push(comparisonOf(scope, field, segment, member, operators));
    else ofRelation.set(segment, member);
  return ofRelation.size === 0
    ? found
    : [...found, ...relationConditions(relation!, ofRelation, node, scope)];
}

const NONE: FilterTree = new Map();

const isTrue = ({ values: [value, ...more] }: FilterPlace): boolean => more.length === 0 && value === 'true';

function relationConditions(
  relation: Related,
  members: FilterTree,
  node: FilterPlace,
  scope: Scope,
): RelationCondition[] {
  const others = scope.of(relation, node);
  requireFieldAccess(others.records, ...relation.referring);
  const columnsOf = ({ columns }: Resource, fields: readonly string[]) =>
    fields.map((field) => columns.get(field)!);
  const parts = {
    kind: 'relation',
    relation: relation.name,
    other: others.resource,
    access: others.records.access,
    own: relation.field === undefined ? undefined : columnsOf(scope.resource, [relation.field])[0],
    referring: columnsOf(others.resource, relation.referring),
  } as const;
  if (!relation.isMany) return [{ ...parts, quantifier: 'one', conditions: conditionsOf(members, others) }];
  return [...members].map(([segment, member]) => {
    if (!(QUANTIFIERS as readonly string[]).includes(segment))
      throw invalidQuery(member.name, `must have one of ${QUANTIFIERS.join(', ')} after ${relation.name}`);
    // `filter[books][some]=true`: there is one.
    const isAny = segment !== 'every' && member.members.size === 0 && isTrue(member);
    if (!isAny)
      requireMembers(member, segment === 'every' ? 'the name of a field' : 'the name of a field, or be true');
    return {
      ...parts,
      quantifier: segment as Quantifier,
      conditions: conditionsOf(member.members, others),
    };
  });
}
