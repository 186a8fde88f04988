import { Ajv, type ErrorObject } from 'ajv';
import { isEmail } from './email.js';
import { invalid, MAX_FAILURES } from './errors.js';
import { escapeToken, isObject, type Json, type JsonObject, member, setMember } from './json.js';
import { isImportableHash } from './passwords/password-hash.js';
import type { Failure } from './problem.js';

/** A step that a field's value goes through before it is validated, in the order declared. */
export type Normalization = 'trim' | 'nfc' | 'lower' | 'integer';

/** What the fields of a body have to be. */
export interface FieldRules {
  /** JSON Schema of the client's fields. Other fields are stored unchanged, unless it forbids them. */
  readonly schema: {
    readonly type: 'object';
    readonly required: readonly string[];
    readonly additionalProperties?: boolean;
    readonly properties: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  };
  /** What happens to a field before validation. */
  readonly normalize: Readonly<Record<string, readonly Normalization[]>>;
}

/** Fields that the service owns: a body may hold them, and they are left out of what is stored. */
const OWNED = new Set(['id', 'created_at', 'updated_at', '_version', '_links']);

/** The client's normalized and valid fields, with write-only ones separately. */
export interface Checked {
  readonly fields: JsonObject;
  readonly writeOnly: JsonObject;
}

/** Compiles a declaration to a check that gives the fields to store or throws the 400 with every failure. */
export function compileCheck(resource: FieldRules): (input: Json | undefined) => Checked {
  const validate = ajv.compile<JsonObject>(resource.schema);
  const { properties, required } = resource.schema;
  const optional = new Set(Object.keys(properties).filter((name) => !required.includes(name)));
  const hidden = new Set(writeOnlyNames(resource.schema));
  const requireFew = compileFew(resource.schema);
  const steps = Object.entries(resource.normalize).map(([name, list]) => {
    const maxLength = Number(properties[name]?.maxLength);
    if (list.includes('nfc') && !(maxLength > 0))
      throw new Error(`${name} is normalized and has no maxLength`);
    return [name, list.map((step) => STEPS[step]), maxLength] as const;
  });

  return (input) => {
    if (!isObject(input)) throw invalid([{ path: '', message: 'must be an object', keyword: 'type' }]);
    requireFew(input);
    const all = clientFields(input, optional);
    for (const [name, list, maxLength] of steps) {
      if (!Object.hasOwn(all, name)) continue;
      all[name] = list.reduce<Json>((value, step) => step(value, maxLength), all[name]!);
    }
    if (!validate(all)) throw invalid((validate.errors ?? []).map(failureOf));
    return split(all, hidden);
  };
}

/** The fields that a body may have and no record shows. */
export const writeOnlyNames = ({ properties }: FieldRules['schema']): string[] =>
  Object.keys(properties).filter((name) => properties[name]?.writeOnly === true);

/** Members from which on a copy without some is made from a copy of all: there it is several times as fast. */
const MANY = 1000;

/** The fields that are the client's, and are given. */
function clientFields(input: JsonObject, optional: ReadonlySet<string>): JsonObject {
  const names = Object.keys(input);
  const isLeftOut = (name: string) => OWNED.has(name) || (input[name] === null && optional.has(name));
  if (names.length > MANY) {
    const all = { ...input };
    for (const name of [...OWNED, ...optional]) if (isLeftOut(name)) delete all[name];
    return all;
  }
  const all: JsonObject = {};
  for (const name of names) if (!isLeftOut(name)) setMember(all, name, input[name]!);
  return all;
}

/** Compiles what throws the 400 of a body that would have a failure for each of very many members, before they are checked. */
function compileFew({ properties, additionalProperties }: FieldRules['schema']): (input: JsonObject) => void {
  const lists = Object.entries(properties).flatMap(([name, { maxItems }]) =>
    typeof maxItems === 'number' ? [[name, maxItems] as const] : [],
  );
  return (input) => {
    if (additionalProperties === false && Object.keys(input).length > MAX_FAILURES)
      throw invalid([{ path: '', message: 'has too many properties', keyword: 'additionalProperties' }]);
    for (const [name, maxItems] of lists) {
      const value = member(input, name);
      if (!Array.isArray(value) || value.length <= maxItems) continue;
      const message = `must NOT have more than ${maxItems} items`;
      throw invalid([{ path: `/${escapeToken(name)}`, message, keyword: 'maxItems' }]);
    }
  };
}

/** The same, compiled on first use, since few services ever need it. */
export function compileOnFirstUse(
  declaration: Parameters<typeof compileCheck>[0],
): ReturnType<typeof compileCheck> {
  let check: ReturnType<typeof compileCheck> | undefined;
  return (input) => {
    check ??= compileCheck(declaration);
    return check(input);
  };
}

/**
 * One instance for all declarations, without the meta-schema, whose compilation would delay the start. Strict mode rejects
 * unknown keywords, and a test validates the declarations against the meta-schema.
 */
const ajv = new Ajv({
  allErrors: true,
  allowUnionTypes: true,
  meta: false,
  validateSchema: false,
  // The optimizer would delay the start without making the validation faster.
  code: { optimize: false },
});
ajv.addFormat('email', isEmail);
ajv.addFormat('password-hash', isImportableHash);

function split(all: JsonObject, hidden: ReadonlySet<string>): Checked {
  const writeOnly: JsonObject = {};
  for (const name of hidden) {
    if (!Object.hasOwn(all, name)) continue;
    writeOnly[name] = all[name]!;
    delete all[name];
  }
  return { fields: all, writeOnly };
}

/** Composition combines up to four characters, each of up to two UTF-16 units. */
const NFC_FACTOR = 8;

/**
 * Each step leaves values of other types to the validator. NFC takes quadratic time for a run of combining characters, so
 * it leaves a text that would still be too long.
 */
const STEPS: Readonly<Record<Normalization, (value: Json, maxLength: number) => Json>> = {
  trim: (value) => (typeof value === 'string' ? value.trim() : value),
  nfc: (value, maxLength) =>
    typeof value === 'string' && value.length <= NFC_FACTOR * maxLength ? value.normalize('NFC') : value,
  lower: (value) => (typeof value === 'string' ? value.toLowerCase() : value),
  integer: (value) => (typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value),
};

/** Never the rejected value: it may be a secret in the wrong field. */
function failureOf(error: ErrorObject): Failure {
  const missing = error.keyword === 'required' ? `/${escapeToken(String(error.params.missingProperty))}` : '';
  return {
    path: error.instancePath + missing,
    message: error.message ?? 'is not valid',
    keyword: error.keyword,
  };
}
