import type { Ajv2020, ErrorObject } from 'ajv/dist/2020.js';
import { invalid, invalidBody, MAX_FAILURES } from '../errors/errors.js';
import type { Failure } from '../errors/problem.js';
import { escapeToken, isObject, type Json, type JsonObject, member, setMember } from '../json.js';
import { sharedAjv } from './ajv.js';
import { type Normalization, STEPS } from './normalization.js';

/** What the fields of a body have to be. */
export interface FieldRules {
  /** JSON Schema of the client's fields. Other fields are stored unchanged, unless it forbids them. */
  readonly schema: {
    readonly type: 'object';
    readonly required: readonly string[];
    readonly additionalProperties?: unknown;
    readonly properties: Readonly<Record<string, object>>;
    readonly [keyword: string]: unknown;
  };
  /** The validator with the schemas that this one refers to; absent: it refers to none. */
  readonly ajv?: (() => Ajv2020) | undefined;
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
  const validate = (resource.ajv?.() ?? sharedAjv()).compile<JsonObject>(resource.schema);
  const { properties, required } = resource.schema;
  const optional = new Set(Object.keys(properties).filter((name) => !required.includes(name)));
  const hidden = new Set(writeOnlyNames(resource.schema));
  const requireFew = compileFew(resource.schema);
  const steps = Object.entries(resource.normalize).map(([name, list]) => {
    const maxLength = Number(rulesOf(properties, name).maxLength);
    if (list.includes('nfc') && !(maxLength > 0))
      throw new Error(`${name} is normalized and has no maxLength`);
    return [name, list.map((step) => STEPS[step]), maxLength] as const;
  });

  return (input) => {
    if (input === undefined) throw invalidBody('The body is empty.', 'type');
    if (!isObject(input)) throw invalidBody('must be an object', 'type');
    requireFew(input);
    const all = clientFields(input, optional);
    for (const [name, list, maxLength] of steps) {
      if (!Object.hasOwn(all, name)) continue;
      all[name] = list.reduce<Json>((value, step) => step(value, maxLength), all[name]!);
    }
    // The branch of an `if` has failures of its own.
    if (!validate(all))
      throw invalid((validate.errors ?? []).filter(({ keyword }) => keyword !== 'if').map(failureOf));
    return split(all, hidden);
  };
}

/** The fields that a body may have and no record shows. */
export const writeOnlyNames = ({ properties }: FieldRules['schema']): string[] =>
  Object.keys(properties).filter((name) => rulesOf(properties, name).writeOnly === true);

/** The fields that only the service and imports set. */
export const readOnlyNames = ({ properties }: FieldRules['schema']): string[] =>
  Object.keys(properties).filter((name) => rulesOf(properties, name).readOnly === true);

/** The keywords of a field's schema. */
function rulesOf(
  properties: FieldRules['schema']['properties'],
  name: string,
): Readonly<Record<string, unknown>> {
  return (properties[name] ?? {}) as Readonly<Record<string, unknown>>;
}

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
  const lists = Object.keys(properties).flatMap((name) => {
    const { maxItems } = rulesOf(properties, name);
    return typeof maxItems === 'number' ? [[name, maxItems] as const] : [];
  });
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

function split(all: JsonObject, hidden: ReadonlySet<string>): Checked {
  const writeOnly: JsonObject = {};
  for (const name of hidden) {
    if (!Object.hasOwn(all, name)) continue;
    writeOnly[name] = all[name]!;
    delete all[name];
  }
  return { fields: all, writeOnly };
}

/** Messages that say more than those of the validator. */
const MESSAGES: Readonly<Record<string, (error: ErrorObject) => string>> = {
  additionalProperties: ({ parentSchema }) =>
    `is not a known field: there are ${Object.keys(parentSchema?.properties ?? {}).join(', ')}`,
  unevaluatedProperties: () => 'is not a known field',
  enum: ({ params }) =>
    `must be one of ${params.allowedValues.map((value: unknown) => JSON.stringify(value)).join(', ')}`,
  const: ({ params }) => `must be ${JSON.stringify(params.allowedValue)}`,
};

/** Never the rejected value: it may be a secret in the wrong field. */
export function failureOf(error: ErrorObject): Failure {
  const { keyword, params, instancePath, message = 'is not valid' } = error;
  const name = params.missingProperty ?? params.additionalProperty ?? params.unevaluatedProperty;
  return {
    path: name === undefined ? instancePath : `${instancePath}/${escapeToken(String(name))}`,
    message: MESSAGES[keyword]?.(error) ?? message,
    keyword,
  };
}
