import { invalid } from '../../errors/input-errors.js';
import { type Failure, Problem } from '../../errors/problem.js';
import { badRequest } from '../../errors/request-errors.js';
import type { Body } from '../../http/request.js';
import { readJson } from '../../http/strict-json.js';
import { isObject, type Json, type JsonObject, setMember } from '../../json.js';
import { digestOf, type FormField, type Texts } from './form-fields.js';

const MAX_ENTRIES = 2000;

/** The values that a form submitted, by name. Names with an underscore are the form's own. */
export class SubmittedForm {
  readonly texts: Texts;

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

/** Digests of the texts by field, from the JSON of a form. */
export function digestsIn(text: string): Readonly<Record<string, string>> {
  try {
    const digests: unknown = JSON.parse(text);
    return typeof digests === 'object' && digests !== null ? (digests as Record<string, string>) : {};
  } catch {
    return {};
  }
}

/** The body that creates a record. Rejects with 400 and every failure. */
export async function recordIn(entered: SubmittedForm, fields: readonly FormField[]): Promise<JsonObject> {
  const record: JsonObject = {};
  for (const [field, value] of await valuesIn(entered, fields)) {
    if (field.kind !== 'others') {
      if (value !== undefined) setMember(record, field.member, value);
    } else if (isObject(value))
      for (const [name, each] of Object.entries(value)) setMember(record, name, each);
  }
  return record;
}

/** The values that were entered; undefined: nothing was. Rejects with 400 and every failure. */
export async function valuesIn(
  entered: SubmittedForm,
  fields: readonly FormField[],
): Promise<(readonly [FormField, Json | undefined])[]> {
  const failures: Failure[] = [];
  const values: (readonly [FormField, Json | undefined])[] = [];
  for (const field of fields) {
    try {
      values.push([field, await enteredValue(field, entered.texts.get(field.name) ?? [])]);
    } catch (error) {
      failures.push(...failuresIn(error, field));
    }
  }
  if (failures.length > 0) throw invalid(failures);
  return values;
}

const NUMBER = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i;

async function enteredValue(
  { kind, isRequired }: FormField,
  texts: readonly string[],
): Promise<Json | undefined> {
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
  return text;
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
