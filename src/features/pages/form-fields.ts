import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { NEVER } from '../../declarations/schema-files.js';
import { escapeToken, isObject, type Json, type JsonObject, member } from '../../json.js';
import { OWNED } from '../../validation/validation.js';
import { type ColumnKind, columnKind, type FieldSchema, fixedValues } from './columns.js';
import { fieldLabel } from './labels.js';
import type { Names } from './names.js';
import { jsonText } from './values.js';

/** The ways to enter one value and several ones, by how people read them: `moment` as a time of UTC, `rows` as one input for each item. */
const ENTERED = {
  choice: ['choice', 'choices'],
  reference: ['reference', 'references'],
  date: ['text', 'rows'],
  number: ['number', 'rows'],
  flag: ['flag', 'rows'],
  time: ['moment', 'rows'],
  text: ['text', 'rows'],
  long: ['long', 'rows'],
  json: ['json', 'json'],
  id: ['text', 'rows'],
  plain: ['text', 'rows'],
} as const satisfies Readonly<Record<ColumnKind, readonly [one: string, several: string]>>;

/** How a value is entered. `others` are all fields that the schema does not declare, as one JSON object. */
export type FieldKind = (typeof ENTERED)[ColumnKind][number] | 'secret' | 'others';

/** One field of a form. */
export interface FormField {
  /** The member of the record, or of the object in it to which `parents` lead. */
  readonly member: string;
  readonly parents: readonly string[];
  /** The label of that object; absent: the field is one of the record. */
  readonly group?: string | undefined;
  /** The name in the form: a JSON Pointer, which failures of validation name too. `*` for `others`. */
  readonly name: string;
  readonly label: string;
  readonly kind: FieldKind;
  readonly isRequired: boolean;
  readonly schema: FieldSchema;
  /** The collection to which a reference leads. */
  readonly to?: string | undefined;
}

/** The schema and the record from which a form's fields are made. */
export interface FormRules {
  readonly schema: {
    readonly required?: readonly string[];
    readonly additionalProperties?: unknown;
    readonly properties: Readonly<Record<string, object>>;
  };
  /** Fields that the form does not have. */
  readonly omitted: readonly string[];
}

const OTHERS: FormField = {
  ...{ member: '*', parents: [], name: '*', label: 'Other fields', kind: 'others', isRequired: false },
  schema: { description: 'Fields without a rule, as a JSON object.' },
};

/** The fields of a form, in the order of the schema. Objects with declared members are groups of fields. */
export function formFields({ schema, omitted }: FormRules): FormField[] {
  const { properties, required, additionalProperties } = schema;
  const entered = Object.entries(properties).filter(([member]) => !omitted.includes(member));
  const fields = membersOf({ properties: Object.fromEntries(entered), required: required ?? [] });
  return additionalProperties === false ? fields : [...fields, OTHERS];
}

/** Levels of objects whose members are fields. Objects below are JSON. */
const MAX_LEVELS = 2;

function membersOf(
  { properties = {}, required = [] }: FieldSchema,
  parents: readonly string[] = [],
  group?: string,
): FormField[] {
  const declared = Object.entries(properties).filter(([, rules]) => !isForbidden(rules));
  return declared.flatMap(([member, rules]: [string, FieldSchema]): FormField[] => {
    const { title, items, 'x-references': one } = rules;
    const to = one ?? (typeof items === 'object' ? items['x-references'] : undefined);
    const isRequired = required.includes(member);
    const label = fieldLabel(member, title, to !== undefined);
    const path = [...parents, member];
    if (isGroup(rules) && parents.length < MAX_LEVELS) {
      const within = group === undefined ? label : `${group}: ${label.toLowerCase()}`;
      // A browser would demand the required members of an object that may be absent.
      return membersOf(isRequired ? rules : { ...rules, required: [] }, path, within);
    }
    const kind = kindOf(rules);
    return [{ member, parents, group, label, to, isRequired, kind, name: pointerTo(path), schema: rules }];
  });
}

const isGroup = ({ type, properties, enum: values, const: only }: FieldSchema): boolean =>
  type === 'object' && Object.keys(properties ?? {}).length > 0 && values === undefined && only === undefined;

/** The JSON Pointer of a member. */
export const pointerTo = (path: readonly string[]): string =>
  path.map((each) => `/${escapeToken(each)}`).join('');

/** The object of a record that has a field; undefined: the record has no such object. */
export function holderOf(record: JsonObject, parents: readonly string[]): JsonObject | undefined {
  let holder: Json | undefined = record;
  for (const name of parents) holder = isObject(holder) ? member(holder, name) : undefined;
  return isObject(holder) ? holder : undefined;
}

/** The value of a field in a record. */
export function fieldValue(record: JsonObject, field: FormField): Json | undefined {
  const holder = holderOf(record, field.parents);
  return holder && member(holder, field.member);
}

/** Whether no record may have the field. */
const isForbidden = (rules: object | boolean): boolean => rules === false || isDeepStrictEqual(rules, NEVER);

function kindOf(schema: FieldSchema): FieldKind {
  const items = typeof schema.items === 'object' ? schema.items : undefined;
  const kind = columnKind(items ?? schema);
  if (kind === 'choice' && !fixedValues(items ?? schema).every((value) => typeof value === 'string'))
    return 'json';
  return schema.writeOnly && (kind === 'text' || kind === 'long') ? 'secret' : ENTERED[kind][items ? 1 : 0];
}

/** The texts of which an array may consist. */
export function choicesOf({ items }: FieldSchema): readonly string[] {
  const values = typeof items === 'object' ? (items.enum ?? []) : [];
  return values.every((value) => typeof value === 'string') ? (values as readonly string[]) : [];
}

/** The texts that a form shows for each field of a record, several for `choices`. */
export type Texts = ReadonlyMap<string, readonly string[]>;

/** The digest of a field without a rule, and of an object with fields, in the state of a form. */
export const [OTHER, OBJECT] = ['*', ''];

/** The members of a record that a schema does not declare. */
export function othersOf(record: JsonObject, { schema }: FormRules): string[] {
  const declared = new Set([...OWNED, ...Object.keys(schema.properties)]);
  return Object.keys(record).filter((name) => !declared.has(name));
}

/** The texts of the fields in the form of a record. */
export function textsOf(
  record: JsonObject,
  fields: readonly FormField[],
  rules: FormRules,
  names: Names,
): Texts {
  return new Map(
    fields.map((field) => {
      if (field.kind !== 'others') return [field.name, fieldTexts(field, fieldValue(record, field), names)];
      const rest = othersOf(record, rules);
      const others = Object.fromEntries(rest.map((name) => [name, member(record, name)!]));
      return [field.name, rest.length === 0 ? [] : [jsonText(others)]];
    }),
  );
}

/** The texts of a value in its field. */
export function fieldTexts({ kind }: FormField, value: Json | undefined, names: Names): string[] {
  if (value === undefined || value === null) return [];
  if (kind === 'references' && Array.isArray(value))
    return value.map((id) => names.enteredOf(String(id)) ?? String(id));
  if ((kind === 'choices' || kind === 'rows') && Array.isArray(value)) return value.map(String);
  if (kind === 'reference' && typeof value === 'string') return [names.enteredOf(value) ?? value];
  if (kind === 'moment' && typeof value === 'string') return [value.replace(/(:00)?(\.0+)?Z$/, '')];
  if (typeof value === 'string') return [kind === 'json' ? JSON.stringify(value) : value];
  return [typeof value === 'object' ? jsonText(value) : String(value)];
}

/** A digest of what a form shows in a field, by which a change is recognized. Browsers submit line ends as CR LF. */
export function digestOf(texts: readonly string[] = []): string {
  const text = JSON.stringify(
    texts.map((each) => each.replaceAll('\r\n', '\n')).filter((each) => each !== ''),
  );
  return createHash('sha1').update(text).digest('base64url').slice(0, 8);
}
