import { invalid } from '../../errors/input-errors.js';
import { type Failure, Problem } from '../../errors/problem.js';
import { badRequest } from '../../errors/request-errors.js';
import type { Body } from '../../http/request.js';
import { readJson } from '../../http/strict-json.js';
import { isObject, type Json, type JsonObject, member, setMember } from '../../json.js';
import type { FieldSchema } from './columns.js';
import { digestOf, type FormField, type Texts } from './form-fields.js';
import type { PageContext } from './layout.js';
import { ID } from './names.js';
import { findNamed, meaningKey, type Named } from './reference-input.js';

const MAX_ENTRIES = 2000;
/** Names of a form that are looked up, each by a few inner requests. */
export const MAX_NAMES = 300;

/** A form that a page of this service has submitted. */
export interface Submitted extends PageContext {
  /** The method for which the form stands. */
  readonly method: string;
  readonly entered: SubmittedForm;
}

/** The values that a form submitted, by name. Names with an underscore are the form's own. */
export class SubmittedForm {
  readonly texts: Texts;
  /** The meaning of each name that was looked up, by `meaningKey`. */
  readonly named = new Map<string, Named>();

  /** `value` is a list of names and values. Throws 400. */
  constructor(value: Json | undefined) {
    const pairs = (value ?? []) as unknown as readonly (readonly [string, string])[];
    if (pairs.length > MAX_ENTRIES) throw badRequest(`The form has more than ${MAX_ENTRIES} fields.`);
    const texts = new Map<string, string[]>();
    for (const [given, text] of pairs) {
      // As in texts, browsers submit line ends of names as CR LF.
      const name = given.replaceAll('\r\n', '\n');
      const known = texts.get(name);
      if (known) known.push(text);
      else texts.set(name, [text]);
    }
    this.texts = texts;
  }

  /** One of the form's own fields. */
  own(name: string): string {
    return this.texts.get(name)?.[0] ?? '';
  }

  /** The fields that differ from what the form showed. On the page of a conflict, those that the user wants to change. */
  changed(fields: readonly FormField[]): FormField[] {
    const shown = digestsIn(this.own('_was'));
    return fields.filter(({ name }) => {
      if (this.own(`_use ${name}`) === 'stored') return false;
      return digestOf(this.texts.get(name)) !== (shown[name] ?? digestOf());
    });
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

/** The record with the values of its fields. */
export function recordOf(values: readonly (readonly [FormField, Json | undefined])[]): JsonObject {
  const record: JsonObject = {};
  for (const [field, value] of values) {
    if (field.kind !== 'others') {
      if (value !== undefined) setMember(holderIn(record, field.parents), field.member, value);
    } else if (isObject(value))
      for (const [name, each] of Object.entries(value)) setMember(record, name, each);
  }
  return record;
}

/** The object of a record for a field. A record that lacks it gets it. */
function holderIn(record: JsonObject, parents: readonly string[]): JsonObject {
  let holder = record;
  for (const name of parents) {
    const known = member(holder, name);
    const next = isObject(known) ? known : {};
    setMember(holder, name, next);
    holder = next;
  }
  return holder;
}

/** The faults of a record by the rules of its collection. */
export type FaultsOf = (record: JsonObject, submitted: Submitted) => readonly Failure[];

/**
 * The values that were entered; undefined: nothing was. Rejects with 400 and every failure, with those that `faultsOf` finds in
 * the other fields.
 */
export async function valuesIn(
  submitted: Submitted,
  fields: readonly FormField[],
  faultsOf?: FaultsOf,
): Promise<(readonly [FormField, Json | undefined])[]> {
  const { entered } = submitted;
  const failures: Failure[] = [];
  const failed: string[] = [];
  const values: (readonly [FormField, Json | undefined])[] = [];
  for (const field of fields) {
    try {
      values.push([field, await enteredValue(field, entered.texts.get(field.name) ?? [], submitted)]);
    } catch (error) {
      failures.push(...failuresIn(error, field));
      failed.push(field.name);
    }
  }
  if (failures.length === 0) return values;
  const isOf = (path: string, name: string) => path === name || path.startsWith(`${name}/`);
  const others = (faultsOf?.(recordOf(values), submitted) ?? []).filter(({ path }) =>
    submitted.method === 'POST'
      ? !failed.some((name) => isOf(path, name) || isOf(name, path))
      : values.some(([{ name }]) => isOf(path, name)),
  );
  throw invalid([...failures, ...others]);
}

const NUMBER = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i;

async function enteredValue(
  field: FormField,
  texts: readonly string[],
  submitted: Submitted,
): Promise<Json | undefined> {
  const { kind, isRequired, schema } = field;
  if (kind === 'references' || kind === 'rows') {
    const given = texts.map((text) => text.trim()).filter((text) => text !== '');
    if (given.length === 0 && !isRequired) return undefined;
    const items = typeof schema.items === 'object' ? schema.items : {};
    if (kind === 'rows') return given.map((text) => scalarIn(items, text));
    const ids: string[] = [];
    // A write checks ids. One inner request for each would be too many.
    for (const text of given) ids.push(ID.test(text) ? text : await referredId(submitted, field, text));
    return ids;
  }
  if (kind === 'choices') return texts.length === 0 && !isRequired ? undefined : [...texts];
  const text = (texts[0] ?? '').replaceAll('\r\n', '\n');
  if (kind === 'others') {
    const value = text.trim() === '' ? {} : await readJson(Buffer.from(text));
    if (!isObject(value)) throw invalid([{ path: '', message: 'must be a JSON object', keyword: 'type' }]);
    return value;
  }
  if (text === '') return isRequired && (kind === 'text' || kind === 'long') ? '' : undefined;
  if (kind === 'json') return readJson(Buffer.from(text));
  if (kind === 'flag') return text === 'true' ? true : text === 'false' ? false : text;
  // Read as JSON, so that a number that no double holds is reported.
  if (kind === 'number') return NUMBER.test(text.trim()) ? readJson(Buffer.from(text.trim())) : text;
  if (kind === 'reference') return referredId(submitted, field, text.trim());
  if (kind === 'moment')
    return /^[\d-]+T\d\d:\d\d$/.test(text)
      ? `${text}:00Z`
      : /[Zz]$|[+-]\d\d:\d\d$/.test(text)
        ? text
        : `${text}Z`;
  return kind === 'text' ? scalarIn(schema, text) : text;
}

/** A text as the first of the types of a field that it is written as: 12345 is a number where numbers are permitted, 01234 is a text. */
function scalarIn({ type }: FieldSchema, text: string): Json {
  const types = [type ?? []].flat();
  const isNumber = types.includes('number') || (types.includes('integer') && /^-?\d+$/.test(text));
  if (isNumber && String(Number(text)) === text) return Number(text);
  if (types.includes('boolean') && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}

/** The id of the record that a person named. Rejects with 400. */
async function referredId(
  { site, request, entered }: Submitted,
  field: FormField,
  text: string,
): Promise<string> {
  const key = meaningKey(field, text);
  if (entered.named.size === MAX_NAMES && !entered.named.has(key))
    throw invalid([{ path: '', message: `the form has more than ${MAX_NAMES} names`, keyword: 'reference' }]);
  const named = entered.named.get(key) ?? (await findNamed(site, request, field, text));
  entered.named.set(key, named);
  if ('id' in named) return named.id;
  if (field.schema['x-open'] && named.choices.length === 0) return text;
  throw invalid([{ ...named.failure, path: '' }]);
}

function failuresIn(error: unknown, { name }: FormField): Failure[] {
  if (!(error instanceof Problem) || error.code !== 'VALIDATION_ERROR') throw error;
  const failures = error.more.details as readonly Failure[];
  return failures.map(({ path, message, keyword }) => ({
    path: name + path,
    message: message.replace(/^The body is/, 'is'),
    keyword,
  }));
}

/** A body with the same bounds as one that a client sends. Rejects with 400. */
export async function bodyOf(type: string, value: Json): Promise<Body> {
  const bytes = Buffer.from(JSON.stringify(value));
  return { type, value: await readJson(bytes), bytes };
}
