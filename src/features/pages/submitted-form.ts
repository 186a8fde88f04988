import type { Resource } from '../../collection/resource.js';
import { invalid } from '../../errors/input-errors.js';
import type { Failure } from '../../errors/problem.js';
import { badRequest } from '../../errors/request-errors.js';
import { JSON_PATCH, JSON_TYPE } from '../../http/media-types.js';
import type { Body } from '../../http/request.js';
import { readJson } from '../../http/strict-json.js';
import { isObject, type Json, type JsonObject, member, setMember } from '../../json.js';
import type { FieldSchema } from './columns.js';
import { digestOf, type FormField, failuresIn, fieldValue, isAt, pointerTo } from './form-fields.js';
import { readAs } from './inner-read.js';
import type { PageContext } from './layout.js';
import { findNamed, meaningKey, type Named } from './reference-input.js';
import { collectionOf } from './site.js';

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
  readonly texts = new Map<string, string[]>();
  /** Digests of what the form showed, by field, without the fields of which the user chose the stored value in a conflict. */
  readonly was: Readonly<Record<string, string>>;
  /** The meaning of each name that was looked up, by `meaningKey`. */
  readonly named = new Map<string, Named>();

  /** `value` is a list of names and values. Throws 400. */
  constructor(value: Json | undefined) {
    const pairs = (value ?? []) as unknown as readonly (readonly [string, string])[];
    if (pairs.length > MAX_ENTRIES) throw badRequest(`The form has more than ${MAX_ENTRIES} fields.`);
    for (const pair of pairs) {
      // Browsers submit line ends as CR LF, also in names.
      const [name = '', text = ''] = pair.map((each) => each.replaceAll('\r\n', '\n'));
      const known = this.texts.get(name);
      if (known) known.push(text);
      else this.texts.set(name, [text]);
    }
    const was = objectIn(this.own('_was')) ?? {};
    for (const name of Object.keys(was).filter((each) => this.own(`_use ${each}`) === 'stored')) {
      delete was[name];
      this.texts.delete(name);
    }
    this.was = was as Record<string, string>;
  }

  /** One of the form's own fields. */
  own(name: string): string {
    return this.texts.get(name)?.[0] ?? '';
  }

  /** The fields that differ from what the form showed. On the page of a conflict, those that the user wants to change. */
  changed(fields: readonly FormField[]): FormField[] {
    return fields.filter(({ name }) => digestOf(this.texts.get(name)) !== (this.was[name] ?? digestOf()));
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

/** The values of some fields; undefined: nothing was entered. */
export type Values = readonly (readonly [FormField, Json | undefined])[];

/** Sets the values of fields in a record, and removes those without one. Objects in the record are replaced. */
export function recordOf(values: Values, record: JsonObject = {}): JsonObject {
  for (const [field, value] of values)
    if (field.kind === 'others') {
      for (const name of Object.keys(fieldValue(record, field) ?? {})) delete record[name];
      for (const [name, each] of Object.entries(value ?? {})) setMember(record, name, each);
    } else setAt(record, field.path, value);
  return record;
}

/** Sets a member of a record, or of an object in it, which the record gets if it lacks it. */
function setAt(record: JsonObject, [name = '', ...rest]: readonly string[], value: Json | undefined): void {
  let own = value;
  if (rest.length > 0) {
    const known = member(record, name);
    const holder = isObject(known) ? { ...known } : {};
    setAt(holder, rest, value);
    own = isObject(known) || Object.keys(holder).length > 0 ? holder : known;
  }
  if (own === undefined) delete record[name];
  else setMember(record, name, own);
}

/**
 * The values that were entered. Rejects with 400 and every failure, with those by the rules of the records of `resource` in the other
 * fields; absent: only the action knows the rules.
 */
export async function valuesIn(
  submitted: Submitted,
  fields: readonly FormField[],
  resource?: Resource,
): Promise<Values> {
  const failures: Failure[] = [];
  const values: (readonly [FormField, Json | undefined])[] = [];
  for (const field of fields)
    try {
      values.push([field, await enteredValue(field, submitted)]);
    } catch (error) {
      const own = failuresIn(error);
      if (own.length === 0) throw error;
      for (const { path, message, keyword } of own)
        failures.push({ path: field.name + path, message: message.replace(/^The body is/, 'is'), keyword });
    }
  if (failures.length === 0) return values;
  try {
    if (resource) collectionOf(submitted.site, resource.name)!.as(submitted.request).check(recordOf(values));
  } catch (error) {
    failures.push(...failuresIn(error).filter(({ path }) => values.some(([field]) => isAt(field, path))));
  }
  throw invalid(failures);
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

async function oneValue(field: FormField, text: string, submitted: Submitted): Promise<Json> {
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
      return (field.choices.find((each) => String(each) === text) ?? text) as Json;
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
async function referredId(submitted: Submitted, field: FormField, text: string): Promise<string> {
  const { site, request, entered } = submitted;
  const key = meaningKey(field, text);
  if (entered.named.size >= MAX_NAMES && !entered.named.has(key))
    throw invalid([{ path: '', message: `the form has more than ${MAX_NAMES} names`, keyword: 'reference' }]);
  const named = entered.named.get(key) ?? (await findNamed(site, request, field, text));
  entered.named.set(key, named);
  if ('id' in named) return named.id;
  const [chosen, ...others] = new Set(entered.texts.get(key));
  if (others.length === 0 && named.choices.some(([id]) => id === chosen)) return chosen!;
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
    setMember(record, field.path[0]!, value ?? (field.isList ? [] : empty));
  }
  return bodyOf(JSON_TYPE, record);
}

/**
 * A JSON Patch of the members of a record that were changed, from its present state, of which the patch has the ETag: fields that
 * were emptied are removed. Rejects with 400.
 */
export async function jsonPatchOf(
  resource: Resource,
  submitted: Submitted,
  fields: readonly FormField[],
): Promise<Body> {
  const { site, request, entered } = submitted;
  const changed = entered.changed(fields);
  const record = (await readAs(site, request, `/${resource.name}/:id`, {}, request.params.id)) ?? {};
  // A record may have references to records that the caller may not read, which a write leaves as they are.
  for (const field of changed.filter(({ to }) => to !== undefined))
    for (const id of [fieldValue(record, field) ?? []].flat().map(String))
      entered.named.set(meaningKey(field, id), { id });
  const after = recordOf(await valuesIn(submitted, changed, resource), { ...record });
  const operations = Object.keys({ ...record, ...after }).flatMap((name) => {
    const value = member(after, name);
    if (value === member(record, name)) return [];
    return { ...(value === undefined ? { op: 'remove' } : { op: 'add', value }), path: pointerTo([name]) };
  });
  return bodyOf(JSON_PATCH, operations);
}
