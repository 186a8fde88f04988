import { invalid } from '../../errors/input-errors.js';
import { type Failure, Problem } from '../../errors/problem.js';
import { badRequest } from '../../errors/request-errors.js';
import { JSON_PATCH, JSON_TYPE } from '../../http/media-types.js';
import type { Body } from '../../http/request.js';
import { readJson } from '../../http/strict-json.js';
import { isObject, type Json, type JsonObject, member, setMember } from '../../json.js';
import type { FieldSchema } from './columns.js';
import { digestOf, type FormField, fieldValue, isAt, pointerTo } from './form-fields.js';
import { readAs } from './inner-read.js';
import type { PageContext } from './layout.js';
import { findNamed, meaningKey, type Named } from './reference-input.js';

const MAX_ENTRIES = 2000;
/** Names and ids of a form that are looked up, each by a few inner requests. */
export const MAX_NAMES = 300;

/** A form that a page of this service has submitted. */
export interface Submitted extends PageContext {
  /** The method for which the form stands. */
  readonly method: string;
  readonly entered: SubmittedForm;
}

/** The values that a form submitted, by name. Names with an underscore are the form's own. */
export class SubmittedForm {
  readonly #texts = new Map<string, string[]>();
  readonly texts: ReadonlyMap<string, readonly string[]> = this.#texts;
  /** The meaning of each name that was looked up, by `meaningKey`. */
  readonly named = new Map<string, Named>();

  /** `value` is a list of names and values. Throws 400. */
  constructor(value: Json | undefined) {
    const pairs = (value ?? []) as unknown as readonly (readonly [string, string])[];
    if (pairs.length > MAX_ENTRIES) throw badRequest(`The form has more than ${MAX_ENTRIES} fields.`);
    for (const [given, text] of pairs) {
      // As in texts, browsers submit line ends of names as CR LF.
      const name = given.replaceAll('\r\n', '\n');
      const known = this.#texts.get(name);
      if (known) known.push(text);
      else this.#texts.set(name, [text]);
    }
  }

  /** One of the form's own fields. */
  own(name: string): string {
    return this.texts.get(name)?.[0] ?? '';
  }

  /** The fields that differ from what the form showed. On the page of a conflict, those that the user wants to change. */
  changed(fields: readonly FormField[]): FormField[] {
    const shown = digestsIn(this.own('_was'));
    return fields.filter(
      ({ name }) => !this.leaves(name) && digestOf(this.texts.get(name)) !== (shown[name] ?? digestOf()),
    );
  }

  /** Whether the user chose the stored value of a field on the page of a conflict. */
  leaves(name: string): boolean {
    return this.own(`_use ${name}`) === 'stored';
  }
}

/** The object that a text has as JSON; undefined: it has none. */
export function objectIn(text: string): JsonObject | undefined {
  try {
    const value = JSON.parse(text) as Json;
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Digests of the texts by field, from the JSON of a form. */
export const digestsIn = (text: string): Readonly<Record<string, string>> =>
  (objectIn(text) ?? {}) as Record<string, string>;

/** The values of some fields; undefined: nothing was entered. */
export type Values = readonly (readonly [FormField, Json | undefined])[];

/** Sets the values of fields in a record, and removes those without one. */
export function recordOf(values: Values, record: JsonObject = {}): JsonObject {
  for (const [field, value] of values)
    if (field.kind === 'others') {
      for (const name of Object.keys(fieldValue(record, field) ?? {})) delete record[name];
      for (const [name, each] of Object.entries(value ?? {})) setMember(record, name, each);
    } else setAt(record, [...field.parents, field.member], value);
  return record;
}

/** Sets a member of a record, or of an object in it, which the record gets if it lacks it. */
function setAt(record: JsonObject, [name = '', ...rest]: readonly string[], value: Json | undefined): void {
  if (rest.length === 0 && value !== undefined) return setMember(record, name, value);
  if (rest.length === 0) return void delete record[name];
  const known = member(record, name);
  const holder = isObject(known) ? known : {};
  setAt(holder, rest, value);
  if (isObject(known) || Object.keys(holder).length > 0) setMember(record, name, holder);
}

/** Throws 400 with the faults of a record by the rules of its collection. */
export type Check = (record: JsonObject, submitted: Submitted) => void;

/** The values that were entered. Rejects with 400 and every failure, with those that `check` finds in the other fields. */
export async function valuesIn(
  submitted: Submitted,
  fields: readonly FormField[],
  check?: Check,
): Promise<Values> {
  const failures: Failure[] = [];
  const values: (readonly [FormField, Json | undefined])[] = [];
  for (const field of fields) {
    try {
      values.push([field, await enteredValue(field, submitted)]);
    } catch (error) {
      const own = faultsIn(error).map((each) => ({ ...each, path: field.name + each.path }));
      failures.push(...own.map((each) => ({ ...each, message: each.message.replace(/^The body is/, 'is') })));
    }
  }
  if (failures.length === 0) return values;
  try {
    check?.(recordOf(values), submitted);
  } catch (error) {
    const isProblem = error instanceof Problem && error.code !== 'VALIDATION_ERROR';
    // A problem of another kind is reported when these faults are corrected.
    const more = isProblem ? [] : faultsIn(error);
    failures.push(...more.filter(({ path }) => values.some(([field]) => isAt(field, path))));
  }
  throw invalid(failures);
}

/** The faults that an error names. Throws any other error. */
function faultsIn(error: unknown): readonly Failure[] {
  if (error instanceof Problem && error.code === 'VALIDATION_ERROR') return error.more.details as Failure[];
  throw error;
}

async function enteredValue(field: FormField, submitted: Submitted): Promise<Json | undefined> {
  const given = submitted.entered.texts.get(field.name) ?? [];
  const texts = given.filter((text) => (field.isList ? text.trim() : text) !== '');
  if (!field.isList) return texts.length === 0 ? undefined : oneValue(field, texts[0]!, submitted);
  const items: Json[] = [];
  for (const text of texts) items.push(await oneValue(field, text, submitted));
  return items.length === 0 && !field.isRequired ? undefined : items;
}

const NUMBER = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i;

async function oneValue(field: FormField, given: string, submitted: Submitted): Promise<Json> {
  const text = given.replaceAll('\r\n', '\n');
  const trimmed = text.trim();
  switch (field.kind) {
    case 'reference':
      return referredId(submitted, field, trimmed);
    case 'json':
    case 'others': {
      const value = await readJson(Buffer.from(text));
      if (field.kind === 'json' || isObject(value)) return value;
      throw invalid([{ path: '', message: 'must be a JSON object', keyword: 'type' }]);
    }
    case 'number':
      // Read as JSON, so that a number that no double holds is reported.
      return NUMBER.test(trimmed) ? readJson(Buffer.from(trimmed)) : text;
    case 'time':
      if (/^[\d-]+T\d\d:\d\d$/.test(text)) return `${text}:00Z`;
      return /[Zz]$|[+-]\d\d:\d\d$/.test(text) ? text : `${text}Z`;
    case 'choice':
    case 'long':
    case 'secret':
      return text;
    default:
      return scalarIn(field.item, field.isList ? trimmed : text);
  }
}

/** A text as the first of the types of a field that it is written as: 12345 is a number where numbers are permitted, 01234 is a text. */
function scalarIn({ type }: FieldSchema, text: string): Json {
  const types = [type ?? []].flat();
  const isNumber = types.includes('number') || (types.includes('integer') && /^-?\d+$/.test(text));
  if (isNumber && String(Number(text)) === text) return Number(text);
  if (types.includes('boolean') && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}

/** The id of the record that a person named, or of which a person entered the id. Rejects with 400. */
async function referredId(
  { site, request, entered }: Submitted,
  field: FormField,
  text: string,
): Promise<string> {
  const key = meaningKey(field, text);
  if (entered.named.size >= MAX_NAMES && !entered.named.has(key))
    throw invalid([{ path: '', message: `the form has more than ${MAX_NAMES} names`, keyword: 'reference' }]);
  const named = entered.named.get(key) ?? (await findNamed(site, request, field, text));
  entered.named.set(key, named);
  if ('id' in named) return named.id;
  if (field.schema['x-open'] && named.choices.length === 0) return text;
  throw invalid([{ path: '', message: named.message, keyword: 'reference' }]);
}

/** A body with the same bounds as one that a client sends. Rejects with 400. */
export async function bodyOf(type: string, value: Json): Promise<Body> {
  const bytes = Buffer.from(JSON.stringify(value));
  return { type, value: await readJson(bytes), bytes };
}

/** The fields that were changed, as a PATCH in JSON assigns them: a text that was emptied is empty. Rejects with 400. */
export async function assignmentsOf(submitted: Submitted, fields: readonly FormField[]): Promise<Body> {
  const record: JsonObject = {};
  for (const [field, value] of await valuesIn(submitted, submitted.entered.changed(fields))) {
    const empty = field.kind === 'text' || field.kind === 'long' ? '' : null;
    setMember(record, field.member, value ?? (field.isList ? [] : empty));
  }
  return bodyOf(JSON_TYPE, record);
}

/**
 * A JSON Patch of the members of a record that were changed, from its present state, of which the patch has the ETag: fields that
 * were emptied are removed. Rejects with 400.
 */
export async function jsonPatchOf(
  collection: string,
  submitted: Submitted,
  fields: readonly FormField[],
  check: Check,
): Promise<Body> {
  const { site, request, entered } = submitted;
  const changed = entered.changed(fields);
  const record = (await readAs(site, request, `/${collection}/:id`, {}, request.params.id)) ?? {};
  // A record may have references to records that the caller may not read, which a write leaves as they are.
  for (const field of changed.filter(({ to }) => to !== undefined))
    for (const id of [fieldValue(record, field) ?? []].flat().map(String))
      entered.named.set(meaningKey(field, id), { id });
  const values = await valuesIn(submitted, changed, check);
  const names = values.flatMap(([field, value]) =>
    field.kind === 'others'
      ? [fieldValue(record, field), value].flatMap((each) => Object.keys(each ?? {}))
      : [field.parents[0] ?? field.member],
  );
  recordOf(values, record);
  const operations = [...new Set(names)].map((name) => {
    const value = member(record, name);
    return { ...(value === undefined ? { op: 'remove' } : { op: 'add', value }), path: pointerTo([name]) };
  });
  return bodyOf(JSON_PATCH, operations);
}
