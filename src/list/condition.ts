import type { Column, ColumnType } from '../collection/column.js';
import { perResource, type Resource } from '../collection/resource.js';
import type { Words } from './words.js';

type Scale = 'lt' | 'lte' | 'gt' | 'gte' | 'between';
export type Operator = Scale | 'eq' | 'ne' | 'in' | 'nin' | 'has' | 'any' | 'prefix' | 'contains' | 'null';

const operators = (...names: Operator[]): ReadonlySet<string> => new Set(names);

/** The operators with any number of values, which are read by a query of their own. */
const OF_LISTS = operators('in', 'nin', 'any');

/** The operators with several values. */
export const LIST_OPERATORS: ReadonlySet<string> = new Set([...OF_LISTS, 'between']);

/** The operators by which the field, or an element of it, equals one of the values. */
export const EQUALITY_OPERATORS = operators('eq', 'in', 'has', 'any');

/** How many of several related records must match: with `every`, a record without any matches as well. */
export const QUANTIFIERS = ['some', 'none', 'every'] as const;
export type Quantifier = (typeof QUANTIFIERS)[number];

/** One restriction of the records of a list. A comparison with a field that a record does not have is false. */
export type Condition = Comparison | Combination | RelationCondition;

/** A column with which conditions compare: that of a declared field, or of a member that the service adds. */
export type ComparedColumn = Omit<Column, 'type'> & { readonly type: ColumnType | 'timestamptz' };

export interface Comparison {
  readonly kind: 'comparison';
  readonly field: string;
  readonly column: ComparedColumn;
  readonly operator: Operator;
  /** One, or with one of LIST_OPERATORS several; text of the column's type. */
  readonly values: readonly string[];
  /** The value that a rule takes from a request, in place of `values`; in a request, one that its caller does not have. */
  readonly symbol?: Symbolic;
}

/** A column of the records of callers. */
export interface CallerColumn {
  readonly table: string;
  readonly column: string;
  readonly type: ColumnType;
}

/** A value that a rule takes from a request. */
export interface Symbolic {
  readonly kind: 'subject' | 'claim' | 'now' | 'user';
  /** The place of the symbol among those of its policy. */
  readonly place: number;
  /** The name of the claim. */
  readonly name: string;
  /** The records of callers, and the column of one, for a value from the record of the caller. */
  readonly through: CallerColumn | undefined;
  /** Whether the operator compares with several values. */
  readonly isList: boolean;
  /** The text with which the column compares; undefined: the value is none of the column's type. */
  readonly read: (text: string) => string | undefined;
}

/** The values that a caller has for the symbols of a policy, by their places; null: it has none. Several values are an array of PostgreSQL. */
export type SymbolValues = readonly (string | null)[];

/** `and`: all conditions hold; `or`: at least one; `not`: not all. */
export interface Combination {
  readonly kind: 'and' | 'or' | 'not';
  readonly conditions: readonly Condition[];
}

/** A restriction of the records of a relation. */
export interface RelationCondition {
  readonly kind: 'relation';
  readonly relation: string;
  /** `one`: the record to which the field `own` refers. */
  readonly quantifier: Quantifier | 'one';
  readonly other: Resource;
  /** The column of this collection that refers to the other one, perhaps by several ids; undefined: columns of the other one refer to this one. */
  readonly own: Column | undefined;
  /** The columns of the other collection that refer to this one. */
  readonly referring: readonly Column[];
  /** The conditions that all hold for the related record. */
  readonly conditions: readonly Condition[];
  /** The related records that count; undefined: all. */
  readonly access?: Access | undefined;
}

/**
 * The records of a collection that a caller may read: those for which all conditions of a grant hold, and of each the fields of
 * these grants.
 */
export interface Access {
  readonly grants: readonly {
    readonly conditions: readonly Condition[];
    /** Undefined: all fields. */
    readonly fields?: readonly string[];
  }[];
  /** Conditions one of which holds for each of these records: those of the grants that no other grant includes. */
  readonly alternatives: readonly (readonly Condition[])[];
  /** Whether each alternative is about records that have to do with the caller, and so likely about few. */
  readonly isSelective: boolean;
  /** The caller's values for the symbols of the conditions. */
  readonly values: SymbolValues;
  /** Equal for callers with equal grants and with values at the same places, of which those at the same places are equal. */
  readonly shape: string;
}

/** Whether the caller may read records without a field that they have. Records always have the members that the service adds. */
export const hides = (access: Access | undefined, field: string): boolean =>
  !OWN_COLUMNS.has(field) &&
  (access?.grants.some(({ fields }) => fields && !fields.includes(field)) ?? false);

/** Whether the caller may read some records without all their fields. */
export const hidesFields = (access: Access | undefined): boolean =>
  access?.grants.some(({ fields }) => fields) ?? false;

/** Whether the SQL of a condition reads the columns of a record and nothing else. */
export const isOfColumns = (condition: Condition): boolean =>
  condition.kind === 'comparison'
    ? condition.symbol?.through === undefined && !OF_LISTS.has(condition.operator)
    : condition.kind !== 'relation' && condition.conditions.every(isOfColumns);

/** Which records a list contains. */
export interface Selection {
  /** The conditions that all hold for a record. */
  readonly conditions: readonly Condition[];
  /** The values for the symbols of the conditions, if these are of a grant. */
  readonly symbolValues?: SymbolValues;
  /** The texts of which a record contains one, as the searched fields store them; none: all records. */
  readonly search: readonly string[];
  /** The words of which a record has all; undefined: any. A record with one of the texts needs no words. */
  readonly words?: Words;
  /** The id of the parent whose records are listed; undefined: those of all parents. */
  readonly parent?: string;
  /** The records and fields that there are for the caller; undefined: all. */
  readonly access?: Access | undefined;
}

/** SQL about a source of records, for values that no column has. It reads other records by `sourceSql` alone. */
export type Expression = (source: string, parameter: (value: string, type?: string) => string) => string;

/** A selection with conditions that a feature has, which no request can name. */
export interface ExpressedSelection extends Selection {
  /** Conditions that all hold for a record as well. */
  readonly expressions?: readonly Expression[];
}

export const EVERYTHING: Selection = { conditions: [], search: [] };

/** Whether a selection is what a search finds. */
export const isSearch = ({ search, words }: Selection): boolean => search.length > 0 || words !== undefined;

/** Whether a selection restricts the records that there are for the caller. */
export const hasTerms = (selection: Selection): boolean =>
  selection.conditions.length > 0 || selection.parent !== undefined || isSearch(selection);

/** Whether a selection is less than all records. */
export const isRestricted = (selection: Selection): boolean =>
  selection.access !== undefined || hasTerms(selection);

/** A condition as a value that is equal for equal conditions. */
export function conditionIdentity(condition: Condition): unknown {
  switch (condition.kind) {
    case 'comparison':
      return [condition.field, condition.operator, condition.values, condition.symbol?.place];
    case 'relation':
      return [condition.relation, condition.quantifier, condition.conditions.map(conditionIdentity)];
    default:
      return [condition.kind, condition.conditions.map(conditionIdentity)];
  }
}

/** The columns of the members that the service adds to each record. The time of creation is in the id. */
export const OWN_COLUMNS: ReadonlyMap<string, ComparedColumn> = new Map([
  ['id', ownColumn('id', 'uuid')],
  ['created_at', ownColumn('id', 'timestamptz')],
  ['updated_at', ownColumn('updated_at', 'timestamptz')],
  ['_version', ownColumn('version', 'double precision')],
]);

function ownColumn(name: string, type: ComparedColumn['type']): ComparedColumn {
  const isInstant = type === 'timestamptz';
  return { name, type, isInstant, ...(isInstant ? { format: 'date-time' } : {}), isIndexed: false };
}

/** The column with which conditions on a field compare; undefined: there is none. */
export const comparedColumn = ({ columns }: Resource, field: string): ComparedColumn | undefined =>
  OWN_COLUMNS.get(field) ?? columns.get(field);

const EQUALITIES: readonly Operator[] = ['eq', 'ne', 'in', 'nin', 'null'];
const COMPARISONS: readonly Operator[] = ['eq', 'ne', 'lt', 'lte', 'gt', 'gte', 'between', 'in', 'nin'];

/** The operators of each field that lists can be filtered by. */
export const operatorsOf = perResource(
  ({ filterable, searchable, columns }): ReadonlyMap<string, readonly Operator[]> => {
    const declared = new Map(filterable.map((field) => [field, operatorsFor(columns.get(field)!)]));
    for (const field of searchable) declared.set(field, [...(declared.get(field) ?? []), 'contains']);
    return new Map([...declared, ...OWN_OPERATORS]);
  },
);

function operatorsFor({ type, isUnordered }: ComparedColumn): readonly Operator[] {
  if (isUnordered && type === 'text') return [...EQUALITIES, 'prefix'];
  if (type.endsWith('[]')) return ['has', 'any'];
  if (type === 'uuid' || type === 'boolean') return EQUALITIES;
  return [...COMPARISONS, 'null', ...(type === 'text' ? ['prefix' as const] : [])];
}

/** Each record has these members. */
const OWN_OPERATORS: ReadonlyMap<string, readonly Operator[]> = new Map(
  [...OWN_COLUMNS].map(([field, column]) => [
    field,
    // Records have an order by their ids, which those of references have not.
    (field === 'id' ? COMPARISONS : operatorsFor(column)).filter((operator) => operator !== 'null'),
  ]),
);

/** The most values of one operator. */
export const MAX_VALUES = 100;

/** The selection of the records with these ids. */
export const among = (values: readonly string[]): Selection => ({
  conditions: [{ kind: 'comparison', field: 'id', column: OWN_COLUMNS.get('id')!, operator: 'in', values }],
  search: [],
});
