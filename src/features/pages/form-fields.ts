import { createHash } from 'node:crypto';
import { type Failure, Problem } from '../../errors/problem.js';
import { escapeToken, isObject, type Json, type JsonObject, member } from '../../json.js';
import { OWNED } from '../../validation/validation.js';
import { type Column, type ColumnKind, type FieldSchema, fieldColumn, undeclared } from './columns.js';
import { isEntered, type Names } from './names.js';
import { jsonText } from './values.js';

/** How one value is entered. `others` are all fields that the schema does not declare, as one JSON object. */
export type FieldKind = ColumnKind | 'secret' | 'others';

/** Values among which a person chooses. */
export type Options = readonly (readonly [value: string, label: string])[];

/** The keywords of the schema of a record. */
type FieldsSchema = Pick<FieldSchema, 'properties' | 'required' | 'additionalProperties'>;

/** One field of a form, from which its input, its texts and its values derive. */
export interface FormField extends Omit<Column, 'kind'> {
  /** The members that lead from the record to the field. */
  readonly path: readonly string[];
  /** The label of the object that has the field; absent: the record has it. */
  readonly group?: string | undefined;
  /** The name in the form: a JSON Pointer, which failures of validation name too. `*` for `others`. */
  readonly name: string;
  readonly kind: FieldKind;
  /** The values of a choice with their labels; absent: `choices`, which are their own labels. */
  readonly options?: Options | undefined;
  readonly isRequired: boolean;
  readonly schema: FieldSchema;
}

/** The fields of a form, in the order of the schema. Objects with declared members are groups of fields. */
export function formFields(schema: FieldsSchema): readonly FormField[] {
  const { properties = {}, additionalProperties } = schema;
  if (additionalProperties === false) return membersOf(schema);
  const rules: FieldSchema = { description: 'Fields without a rule, as a JSON object.', properties };
  const others = { ...undeclared('*'), kind: 'others', label: 'Other fields', isRequired: false } as const;
  // An empty group separates the field from the declared ones, as the last one.
  return [...membersOf(schema), { ...others, path: ['*'], group: '', schema: rules }];
}

function membersOf(
  { properties = {}, required = [] }: FieldsSchema,
  parents: readonly string[] = [],
  group?: string,
): FormField[] {
  return Object.entries(properties).flatMap(([member, schema]: [string, FieldSchema]): FormField[] => {
    const column = fieldColumn(member, schema);
    const isRequired = required.includes(member);
    const path = [...parents, member];
    if (schema.type === 'object' && Object.keys(schema.properties ?? {}).length > 0) {
      const within = group === undefined ? column.label : `${group}: ${column.label.toLowerCase()}`;
      // The members that an object requires may be absent with the object.
      return membersOf(isRequired ? schema : { ...schema, required: [] }, path, within);
    }
    const isText = column.kind === 'text' || column.kind === 'long';
    const kind = column.item.writeOnly && isText ? 'secret' : column.kind;
    const isList = column.isList && kind !== 'json';
    return [{ ...column, path, group, isRequired, kind, isList, name: pointerTo(path), schema }];
  });
}

/** The JSON Pointer of a member. */
export const pointerTo = (path: readonly string[]): string =>
  path.map((each) => `/${escapeToken(each)}`).join('');

/** Whether a failure at a path is one of a field, or of a part of it. */
export const isAt = ({ name }: FormField, path: string): boolean =>
  path === name || path.startsWith(`${name}/`);

/** The faults of fields that an error names; none: it is not about fields. Throws what is no problem. */
export function failuresIn(error: unknown): readonly Failure[] {
  if (!(error instanceof Problem)) throw error;
  const details = [error.more.details ?? []].flat() as readonly FaultDetails[];
  return details.flatMap(({ path, field, fields = field === undefined ? [] : [field], ...own }) => {
    const paths = path === undefined ? fields.map((name) => pointerTo([name])) : [path];
    return paths.map((each) => ({ message: error.message, keyword: error.code, ...own, path: each }));
  });
}

/** The details of an error that name fields: a failure, or unique fields. */
type FaultDetails = Partial<Failure> & { readonly field?: string; readonly fields?: readonly string[] };

/** The value of a field in a record: of `others` an object, if there are any. */
export function fieldValue(record: JsonObject, field: FormField): Json | undefined {
  if (field.kind === 'others') {
    const isDeclared = (name: string) => OWNED.has(name) || Object.hasOwn(field.schema.properties!, name);
    const rest = Object.entries(record).filter(([name]) => !isDeclared(name));
    return rest.length === 0 ? undefined : Object.fromEntries(rest);
  }
  const within = (value: Json | undefined, name: string) =>
    isObject(value) ? member(value, name) : undefined;
  return field.path.reduce<Json | undefined>(within, record);
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
    const name = names.of(each) ?? each;
    if (kind === 'reference') return isEntered(name) ? name : each;
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
