import type { ColumnType } from '../collection/column.js';
import { normalizedText, type Resource } from '../collection/resource.js';
import { invalidQuery } from '../errors/input-errors.js';
import { Problem } from '../errors/problem.js';
import { isInexact } from '../http/strict-json.js';
import { parseUuid } from '../uuid.js';
import { instantOf, isFinerThanMilliseconds, TIME_FORMATS } from '../validation/times.js';
import {
  type Combination,
  type ComparedColumn,
  type Comparison,
  type Condition,
  comparedColumn,
  LIST_OPERATORS,
  MAX_VALUES,
  type Operator,
  operatorsOf,
  QUANTIFIERS,
  type Quantifier,
  type RelationCondition,
  type Symbolic,
} from './condition.js';
import {
  COMBINATIONS,
  type FilterPlace,
  type FilterTree,
  FLAGS,
  filterIn,
  readChoice,
  unescapeName,
} from './query-names.js';
import { type Accessible, type Others, type Related, relatedOf, requireFieldAccess } from './relations.js';

/** The most relations in one condition, one after the other. */
const MAX_STEPS = 5;
/** The most relations in one filter, each of which the database joins. */
const MAX_RELATIONS = 20;

/**
 * Reads conditions, as `filter[price][gte]=10`, `filter[or][0][status]=open`, `filter[author][name]=Ann` and
 * `filter[books][some][title]=Dune`. Without `others`, no relations and no `$caller` are known. Throws 400 that names what is
 * valid, 403.
 */
export function readFilter(
  given: URLSearchParams,
  records: Accessible,
  others?: Others,
  symbols?: ReadSymbol,
): Condition[] {
  const filter = filterIn(given);
  // Most lists have no conditions, and the table of operators takes longer than the rest of their parameters.
  if (filter.size === 0) return [];
  const known = symbols ?? (others && ofCaller(others.subject));
  return conditionsOf(filter, new Scope(records, others, known, 0, { relations: 0 }));
}

/**
 * Reads `$caller` in a request. The condition has the value itself, by which cursors and shared statements differ between callers.
 * For a caller without one, the symbol remains: its place is that of no value, and the comparison never holds.
 */
const ofCaller =
  (caller: string | undefined): ReadSymbol =>
  (text, _name, { isList, read }) => {
    if (text !== '$caller') return undefined;
    const value = caller === undefined ? undefined : read(caller);
    return { kind: 'subject', place: -1, name: '', through: undefined, isList, read, value };
  };

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
    return [...new Set([...this.operators.keys(), ...relations])].join(', ') || 'none';
  }
}

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
    const conditions = conditionsOf(group.members, scope);
    return conditions.length === 1 ? conditions[0]! : { kind: 'and' as const, conditions };
  });
  return { kind, conditions: groups };
}

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
    found.push(comparisonOf(scope, field, 'eq', { ...node, members: new Map() }, operators));
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
    const isAny = segment !== 'every' && member.members.size === 0 && member.values.join() === 'true';
    if (!isAny)
      requireMembers(member, segment === 'every' ? 'the name of a field' : 'the name of a field, or be true');
    return {
      ...parts,
      quantifier: segment as Quantifier,
      conditions: conditionsOf(member.members, others),
    };
  });
}

/** A symbol of a rule; or of the request at hand, which alone has a member `value`. */
type GivenSymbol = Symbolic & { readonly value?: string | undefined };

/** Reads a symbol like `$caller`. Undefined: the text is a value itself. Throws 400. */
export type ReadSymbol = (
  text: string,
  name: string,
  compared: Pick<Symbolic, 'isList' | 'read'> & { readonly column: ComparedColumn },
) => GivenSymbol | undefined;

/** The comparison of a field at a place of a filter. Throws 400. */
function comparisonOf(
  { resource, symbols }: Scope,
  field: string,
  operator: string,
  { name, values, members }: FilterPlace,
  operators: readonly Operator[],
): Comparison {
  if (!(operators as readonly string[]).includes(operator))
    throw invalidQuery(name, `must have one of the operators ${operators.join(', ')}`);
  const [below] = members.values();
  if (below)
    throw invalidQuery(below.name, 'must be like filter[field][operator]: no name follows an operator');
  const column = comparedColumn(resource, field)!;
  const part = PARTS[operator as Operator];
  const isList = LIST_OPERATORS.has(operator);
  const read = (value: string) =>
    readValue(
      name,
      column,
      column.type === 'text' ? normalizedText(resource, field, value, part ?? 'whole') : value,
      part !== undefined,
    );
  const attempt = (text: string) => {
    try {
      return read(text);
    } catch (error) {
      if (error instanceof Problem) return undefined;
      throw error;
    }
  };
  const found = valuesOf(
    name,
    operator as Operator,
    values,
    (text) => symbols?.(text, name, { column, isList, read: attempt }) ?? read(text),
  );
  const comparison = { kind: 'comparison', field, column, operator: operator as Operator } as const;
  const symbol = found.find((each) => typeof each !== 'string');
  if (!symbol) return { ...comparison, values: found as string[] };
  if (part !== undefined || field === 'created_at')
    throw invalidQuery(name, `cannot be compared with ${values.join()} by ${operator}`);
  if (symbol.through && !isComparable(column, symbol.through.type, isList))
    throw invalidQuery(name, `cannot be compared with ${values.join()}, whose values have another type`);
  // A rule has no value yet.
  if (found.length > 1 && !('value' in symbol))
    throw invalidQuery(name, `cannot have a value of the request beside other values: ${values.join()}`);
  const known = found.flatMap((each) => (typeof each === 'string' ? each : (each.value ?? [])));
  // Beside a caller without a value, the other values remain; a range without one of its ends has nothing.
  return known.length === 0 || (operator === 'between' && known.length < found.length)
    ? { ...comparison, values: [], symbol }
    : { ...comparison, values: known };
}

/** Whether a field of the caller has values of a column's type, or for an operator with several values a list of these. */
function isComparable(column: ComparedColumn, type: ColumnType, isList: boolean): boolean {
  const own = column.type.replace('[]', '');
  if (!type.endsWith('[]')) return type === own;
  const element = type.replace('[]', '');
  // Ids are in lists of texts.
  return isList && (element === own || (element === 'text' && own === 'uuid'));
}

/** The part of a text with which an operator compares its values; absent: the whole text. */
const PARTS: Partial<Record<Operator, 'start' | 'any'>> = { prefix: 'start', contains: 'any' };

/** Several values are a list, or one text in which commas separate them. */
function valuesOf(
  name: string,
  operator: Operator,
  given: readonly string[],
  read: (value: string) => string | GivenSymbol,
): (string | GivenSymbol)[] {
  const [first = '', ...more] = given;
  if (!LIST_OPERATORS.has(operator)) {
    if (more.length > 0) throw invalidQuery(name, 'must be given once');
    return [operator === 'null' ? readChoice(name, first, FLAGS)! : read(first)];
  }
  const values = more.length > 0 ? given : first.split(',');
  if (operator === 'between' && values.length !== 2)
    throw invalidQuery(name, 'must have two values, the least and the greatest');
  if (values.length > MAX_VALUES) throw invalidQuery(name, `has more than ${MAX_VALUES} values`);
  const texts = values.map(read);
  // An address repeats the only value of a list if the value has commas.
  return operator === 'between' ? texts : [...new Set(texts)];
}

/** A number as the text of a double. Throws 400. */
function numberOf(name: string, text: string): string {
  const isNumber = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text);
  if (!isNumber || !Number.isFinite(Number(text))) throw invalidQuery(name, 'must be a number');
  // A double near it would be equal to another value, whose records a write by filter would change.
  if (isInexact(text)) throw invalidQuery(name, 'must be a number that fits a double');
  return text;
}

/** A value as the text of the column's type. `isPart`: it is compared with a part of the stored text. */
function readValue(name: string, { type, format }: ComparedColumn, text: string, isPart: boolean): string {
  if (text.includes('\0')) throw invalidQuery(name, 'must not contain U+0000');
  switch (type.replace('[]', '')) {
    case 'double precision':
      return numberOf(name, text);
    case 'boolean':
      return readChoice(name, text, FLAGS)!;
    case 'uuid': {
      const id = parseUuid(text);
      if (id === undefined) throw invalidQuery(name, 'must be the id of a record');
      return id;
    }
    default:
      return format === undefined || isPart ? text : readTime(name, format, text);
  }
}

/** A date, a time or a duration. A date alone is the start of the day in UTC, as forms of browsers send it. */
function readTime(name: string, format: string, text: string): string {
  const isDate = TIME_FORMATS.date!(text);
  const value = format === 'date-time' ? instantOf(isDate ? `${text}T00:00:00Z` : text) : text;
  if (value === undefined || !TIME_FORMATS[format]!(value))
    throw invalidQuery(
      name,
      `must be a ${format} as in RFC 3339${ZONED.has(format) ? ', with its zone' : ''}`,
    );
  if (format === 'date-time' && isFinerThanMilliseconds(text))
    throw invalidQuery(name, 'must not be finer than milliseconds');
  return value;
}

const ZONED: ReadonlySet<string> = new Set(['date-time', 'time']);
