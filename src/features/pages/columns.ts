import { perResource, type Resource } from '../../collection/resource.js';
import type { Json, JsonObject } from '../../json.js';
import { capitalized, fieldLabel } from './labels.js';

/** The keywords of JSON Schema that decide how a field is shown and entered. */
export interface FieldSchema extends Partial<Texts>, Partial<Numbers> {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly writeOnly?: boolean;
  /** A text that names no record is a value, too. */
  readonly 'x-open'?: boolean;
  /** The label of a button that sets the field to its only value. No form has the field. */
  readonly 'x-button'?: string;
  readonly default?: Json;
  readonly items?: FieldSchema | boolean;
  readonly properties?: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: unknown;
}

type Texts = Readonly<Record<'title' | 'description' | 'format' | 'pattern' | 'x-references', string>>;
type Bound = 'minimum' | 'maximum' | 'exclusiveMinimum' | 'exclusiveMaximum' | 'minLength' | 'maxLength';
type Numbers = Readonly<Record<Bound | 'multipleOf', number>>;

/** The ways in which people read the values of a field. Lists show the first ones, in this order, and the others if they are chosen. */
const COMPARED = ['choice', 'reference', 'date', 'number', 'flag', 'time', 'text'] as const;
export type ColumnKind = (typeof COMPARED)[number] | 'long' | 'json';

/** A field as lists and records show it. */
export interface Column {
  readonly name: string;
  readonly label: string;
  readonly kind: ColumnKind;
  /** The values of a choice, in the order of the declaration. */
  readonly choices: readonly unknown[];
  /** The collection to which a reference leads. */
  readonly to: string | undefined;
  /** Whether a record may have several values. */
  readonly isList: boolean;
  /** The schema of one value. */
  readonly item: FieldSchema;
}

/** A field of a schema. */
export function fieldColumn(name: string, schema: FieldSchema): Column {
  const item = typeof schema.items === 'object' ? schema.items : schema;
  const to = item['x-references'];
  const label = fieldLabel(name, schema.title, to !== undefined);
  const choices = item.const === undefined ? (item.enum ?? []) : [item.const];
  return { name, label, kind: columnKind(item), choices, to, isList: item !== schema, item };
}

/** Columns of a list besides its first one, and fields without a declaration that pages look at. */
const MAX_COLUMNS = 6;
export const MAX_UNDECLARED = 100;
/** Characters from which on a text is long. */
export const LONG = 200;

const OWN = ['created_at', 'updated_at'];

/** All fields that records of a collection may show, the declared ones in their order, then the times of the service. */
export const columnsOf = perResource(({ schema, writeOnly }): readonly Column[] => {
  const declared = Object.entries(schema.properties as Readonly<Record<string, FieldSchema>>)
    .filter(([name, rules]) => !writeOnly.includes(name) && rules.writeOnly !== true)
    .map(([name, rules]) => fieldColumn(name, rules));
  return [...declared, ...OWN.map((name): Column => ({ ...undeclared(name), kind: 'time' }))];
});

/** A field that no declaration describes. */
export const undeclared = (name: string): Column => fieldColumn(name, {});

/** The column of a field; undefined: no declaration describes it. */
export const columnOf = (resource: Resource, field: string): Column | undefined =>
  columnsOf(resource).find(({ name }) => name === field);

/** The label of a field, or of a relation. */
export const labelOf = (resource: Resource, field: string): string =>
  columnOf(resource, field)?.label ?? fieldLabel(field.replaceAll('.', ' '));

/** How people read one value of a field. */
function columnKind(schema: FieldSchema): ColumnKind {
  const types = [schema.type ?? []].flat().filter((type) => type !== 'null');
  if (schema['x-references'] !== undefined) return 'reference';
  if (schema.enum || schema.const !== undefined) return 'choice';
  if (types.some((type) => type === 'object' || type === 'array') || types.length === 0) return 'json';
  if (types.every((type) => type === 'number' || type === 'integer')) return 'number';
  if (types.every((type) => type === 'boolean')) return 'flag';
  if (schema.format === 'date-time') return 'time';
  if (schema.format === 'date') return 'date';
  const isLong = types.join() === 'string' && (schema.maxLength ?? 0) > LONG;
  return isLong && !schema.format && !schema.pattern ? 'long' : 'text';
}

/**
 * The columns of a list after the one that names its records: those that the address chooses, or the declared ones that people
 * most likely compare, and undeclared ones while there is room.
 */
export function listColumns(
  resource: Resource,
  chosen: readonly string[] | undefined,
  records: readonly JsonObject[],
): readonly Column[] {
  const rest = (chosen ?? undeclaredNames(resource, records)).filter((name) => !columnOf(resource, name));
  const known = chosen ? columnsOf(resource) : likelyColumns(resource);
  const columns = [...known, ...rest.map(undeclared)].filter(({ name }) => name !== resource.display);
  return chosen ? columns.filter(({ name }) => chosen.includes(name)) : columns.slice(0, MAX_COLUMNS);
}

/** The declared fields by their kinds, each before the arrays, and then the time of the creation. */
const likelyColumns = perResource((resource): readonly Column[] => {
  const kinds: readonly ColumnKind[] = COMPARED;
  const rank = ({ name, kind, isList }: Column) =>
    kinds.indexOf(kind) + (isList ? kinds.length : 0) + (OWN.includes(name) ? 2 * kinds.length : 0);
  const compared = columnsOf(resource).filter(
    ({ name, kind }) => name !== 'updated_at' && kinds.includes(kind),
  );
  return compared.sort((a, b) => rank(a) - rank(b));
});

/** The label of the column that names the records of a list. */
export const titleLabel = (resource: Resource): string =>
  resource.display === undefined ? capitalized(resource.singular) : labelOf(resource, resource.display);

/** The first names of the fields of some records that the declaration does not have. */
export function undeclaredNames({ schema }: Resource, records: readonly JsonObject[]): string[] {
  const isOwn = (name: string) => name === 'id' || OWN.includes(name) || name.startsWith('_');
  const names = [...new Set(records.flatMap(Object.keys))];
  const rest = names.filter((name) => !isOwn(name) && !Object.hasOwn(schema.properties, name));
  return rest.slice(0, MAX_UNDECLARED);
}
