import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { NEVER } from '../../declarations/schema-files.js';
import { escapeToken, isObject, type Json, type JsonObject, member } from '../../json.js';
import { OWNED } from '../../validation/validation.js';
import { type Column, type ColumnKind, type FieldSchema, fieldColumn, undeclared } from './columns.js';
import type { Names } from './names.js';
import { jsonText } from './values.js';

/** How one value is entered. `others` are all fields that the schema does not declare, as one JSON object. */
export type FieldKind = ColumnKind | 'secret' | 'others';

/** The keywords of the schema of a record. */
type FieldsSchema = Pick<FieldSchema, 'properties' | 'required' | 'additionalProperties'>;

/** One field of a form, from which its input, its texts and its values derive. */
export interface FormField extends Omit<Column, 'kind'> {
  /** The member of the record, or of the object in it to which `parents` lead. */
  readonly member: string;
  readonly parents: readonly string[];
  /** The label of that object; absent: the field is one of the record. */
  readonly group?: string | undefined;
  /** The name in the form: a JSON Pointer, which failures of validation name too. `*` for `others`. */
  readonly name: string;
  readonly kind: FieldKind;
  readonly isRequired: boolean;
  readonly schema: FieldSchema;
}

/** The fields of a form, in the order of the schema, without some. Objects with declared members are groups of fields. */
export function formFields(schema: FieldsSchema, omitted: readonly string[] = []): readonly FormField[] {
  const { properties = {}, required = [], additionalProperties } = schema;
  const entered = Object.entries(properties).filter(([member]) => !omitted.includes(member));
  const fields = membersOf({ properties: Object.fromEntries(entered), required });
  if (additionalProperties === false) return fields;
  const rules: FieldSchema = { description: 'Fields without a rule, as a JSON object.', properties };
  const others = { ...undeclared('*'), kind: 'others', label: 'Other fields', isRequired: false } as const;
  return [...fields, { ...others, member: '*', parents: [], schema: rules }];
}

/** Levels of objects whose members are fields. Objects below are JSON. */
const MAX_LEVELS = 2;

function membersOf(
  { properties = {}, required = [] }: FieldsSchema,
  parents: readonly string[] = [],
  group?: string,
): FormField[] {
  const declared = Object.entries(properties).filter(([, rules]) => !isForbidden(rules));
  return declared.flatMap(([member, schema]: [string, FieldSchema]): FormField[] => {
    const column = fieldColumn(member, schema);
    const isRequired = required.includes(member);
    const path = [...parents, member];
    if (isGroup(schema) && parents.length < MAX_LEVELS) {
      const within = group === undefined ? column.label : `${group}: ${column.label.toLowerCase()}`;
      // A browser would demand the required members of an object that may be absent.
      return membersOf(isRequired ? schema : { ...schema, required: [] }, path, within);
    }
    const kind = kindOf(column);
    const isList = column.isList && kind !== 'json';
    return [{ ...column, member, parents, group, isRequired, kind, isList, name: pointerTo(path), schema }];
  });
}

const isGroup = ({ type, properties, enum: values, const: only }: FieldSchema): boolean =>
  type === 'object' && Object.keys(properties ?? {}).length > 0 && values === undefined && only === undefined;

/** The JSON Pointer of a member. */
export const pointerTo = (path: readonly string[]): string =>
  path.map((each) => `/${escapeToken(each)}`).join('');

/** Whether no record may have the field. */
const isForbidden = (rules: object | boolean): boolean => rules === false || isDeepStrictEqual(rules, NEVER);

function kindOf({ kind, choices, item }: Column): FieldKind {
  if (kind === 'choice' && choices.some((value) => typeof value !== 'string')) return 'json';
  return item.writeOnly && (kind === 'text' || kind === 'long') ? 'secret' : kind;
}

/** Whether a failure at a path is one of a field, or of a part of it. */
export const isAt = ({ name }: FormField, path: string): boolean =>
  path === name || path.startsWith(`${name}/`);

/** The value of a field in a record: of `others` an object, if there are any. */
export function fieldValue(record: JsonObject, field: FormField): Json | undefined {
  if (field.kind === 'others') {
    const isDeclared = (name: string) => OWNED.has(name) || Object.hasOwn(field.schema.properties!, name);
    const rest = Object.entries(record).filter(([name]) => !isDeclared(name));
    return rest.length === 0 ? undefined : Object.fromEntries(rest);
  }
  let value: Json | undefined = record;
  for (const name of [...field.parents, field.member])
    value = isObject(value) ? member(value, name) : undefined;
  return value;
}

/** The texts that a form shows for each field of a record, several for one with several values. */
export type Texts = ReadonlyMap<string, readonly string[]>;

/** The texts of the fields in the form of a record. */
export const textsOf = (record: JsonObject, fields: readonly FormField[], names: Names): Texts =>
  new Map(fields.map((field) => [field.name, fieldTexts(field, fieldValue(record, field), names)]));

/** The texts of a value in its field. */
export function fieldTexts({ kind, isList }: FormField, value: Json | undefined, names: Names): string[] {
  if (value === undefined || value === null) return [];
  return (isList && Array.isArray(value) ? value : [value]).map((each) => {
    if (typeof each !== 'string') return typeof each === 'object' ? jsonText(each) : String(each);
    if (kind === 'reference') return names.enteredOf(each) ?? each;
    if (kind === 'time') return localText(each);
    return kind === 'json' ? JSON.stringify(each) : each;
  });
}

/** A time as an input shows it, in UTC; a text that is no time of a calendar as it is. */
function localText(time: string): string {
  const instant = new Date(time);
  const text = Number.isNaN(instant.getTime()) ? time : instant.toISOString();
  return text.replace(/(:00)?(\.0+)?Z$/, '');
}

/** A digest of what a form shows in a field, by which a change is recognized. Browsers submit line ends as CR LF. */
export function digestOf(texts: readonly string[] = []): string {
  const text = JSON.stringify(
    texts.map((each) => each.replaceAll('\r\n', '\n')).filter((each) => each !== ''),
  );
  return createHash('sha1').update(text).digest('base64url').slice(0, 8);
}
