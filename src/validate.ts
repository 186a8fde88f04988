import { Ajv, type ErrorObject } from 'ajv';
import formats from 'ajv-formats';
import { invalid } from './errors.js';
import { escapeToken, isObject, type Json, type JsonObject, setMember } from './json.js';
import type { Failure } from './problem.js';
import type { Normalization, Resource } from './resource.js';

/** Fields that the service owns: a body may hold them, and they are left out of what is stored. */
const OWNED = new Set(['id', 'created_at', 'updated_at', '_version', '_links']);

/** The client's fields, normalised and valid; write-only ones apart. */
export interface Checked {
  readonly fields: JsonObject;
  readonly writeOnly: JsonObject;
}

/** Compiles a declaration to a check that gives the fields to store or throws the 400 with every failure. */
export function compileCheck(
  resource: Pick<Resource, 'schema' | 'normalize'>,
): (input: Json | undefined) => Checked {
  const validate = ajv.compile<JsonObject>(resource.schema);
  const { properties, required } = resource.schema;
  const optional = new Set(Object.keys(properties).filter((name) => !required.includes(name)));
  const hidden = new Set(Object.keys(properties).filter((name) => properties[name]?.writeOnly === true));
  const steps = Object.entries(resource.normalize).map(
    ([name, list]) => [name, list.map((step) => STEPS[step])] as const,
  );

  return (input) => {
    if (!isObject(input)) throw invalid([{ path: '', message: 'must be an object', keyword: 'type' }]);
    const all: JsonObject = {};
    for (const name of Object.keys(input)) {
      const value = input[name]!;
      if (OWNED.has(name) || (value === null && optional.has(name))) continue;
      setMember(all, name, value);
    }
    for (const [name, list] of steps) {
      if (!Object.hasOwn(all, name)) continue;
      all[name] = list.reduce<Json>((value, step) => step(value), all[name]!);
    }
    if (!validate(all)) throw invalid((validate.errors ?? []).map(failureOf));
    return split(all, hidden);
  };
}

/** The same, compiled when it is asked for the first time: what few services ever check shall not make all start later. */
export function lateCheck(declaration: Parameters<typeof compileCheck>[0]): ReturnType<typeof compileCheck> {
  let check: ReturnType<typeof compileCheck> | undefined;
  return (input) => {
    check ??= compileCheck(declaration);
    return check(input);
  };
}

/**
 * One for all declarations, without the meta-schema, whose compilation took a third of the start: strict mode refuses
 * unknown keywords and values of the wrong type, and a test holds the declarations against it.
 */
const ajv = new Ajv({
  allErrors: true,
  allowUnionTypes: true,
  meta: false,
  validateSchema: false,
  // Its optimizer took a seventh of the start, and the check is as fast without.
  code: { optimize: false },
});
(formats as unknown as typeof formats.default)(ajv, { mode: 'full', formats: ['email'] });

function split(all: JsonObject, hidden: ReadonlySet<string>): Checked {
  const writeOnly: JsonObject = {};
  for (const name of hidden) {
    if (!Object.hasOwn(all, name)) continue;
    writeOnly[name] = all[name]!;
    delete all[name];
  }
  return { fields: all, writeOnly };
}

/** Each leaves what it is not made for to the validator. */
const STEPS: Readonly<Record<Normalization, (value: Json) => Json>> = {
  trim: (value) => (typeof value === 'string' ? value.trim() : value),
  nfc: (value) => (typeof value === 'string' ? value.normalize('NFC') : value),
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
