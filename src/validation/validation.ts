import { invalidBody } from '../errors/input-errors.js';
import type { Failure } from '../errors/problem.js';
import { hasLongRun } from '../formats/composed-text.js';
import { escapeToken, isObject, type Json, type JsonObject, setMember } from '../json.js';
import { createAjv } from './ajv.js';
import { failureOf } from './failure-messages.js';
import { type Normalization, normalized } from './normalization.js';
import { compileValidation, type FieldRules, isLarge } from './require-valid.js';

/** Fields that the service owns: a body may hold them, and a check leaves them out unless its schema declares them. */
export const OWNED: ReadonlySet<unknown> = new Set(['id', 'created_at', 'updated_at', '_version', '_links']);

/** The client's normalized and valid fields, with write-only ones separately. */
export interface Checked {
  readonly fields: JsonObject;
  readonly writeOnly: JsonObject;
}

/**
 * Compiles a declaration to a check that gives the fields to store or throws the 400: with every failure of a small body, with
 * the first one of a large body.
 */
export function compileCheck(resource: FieldRules): (input: Json | undefined) => Checked {
  const requireValid = compileValidation(resource);
  const { properties, required } = resource.schema;
  const optional = new Set(Object.keys(properties).filter((name) => !required.includes(name)));
  const dropped = new Set([...OWNED].filter((name) => !Object.hasOwn(properties, String(name))));
  const hidden = new Set(writeOnlyNames(resource.schema));
  const normalizing = Object.entries(resource.normalize);

  return (input) => {
    if (input === undefined) throw invalidBody('The body is empty.', 'type');
    if (Array.isArray(input))
      throw invalidBody('must be an object: send many records as NDJSON, one in each line', 'type');
    if (!isObject(input)) throw invalidBody('must be an object', 'type');
    const all = clientFields(input, dropped, optional);
    for (const [name, steps] of normalizing)
      if (Object.hasOwn(all, name)) all[name] = normalizedField(name, steps, all[name]!);
    requireValid(all);
    return split(all, hidden);
  };
}

/** Throws 400 for a text that cannot be composed. */
function normalizedField(name: string, steps: readonly Normalization[], value: Json): Json {
  if (steps.includes('nfc') && typeof value === 'string' && hasLongRun(value))
    throw invalidBody(
      'must not have more than 30 combining characters in a row',
      'unicode',
      `/${escapeToken(name)}`,
    );
  return normalized(steps, value);
}

/** The fields that a body may have and no record shows. */
export const writeOnlyNames = ({ properties }: FieldRules['schema']): string[] =>
  Object.keys(properties).filter((name) => rulesOf(properties, name).writeOnly === true);

/** The keywords of a field's schema. */
function rulesOf(
  properties: FieldRules['schema']['properties'],
  name: string,
): Readonly<Record<string, unknown>> {
  return (properties[name] ?? {}) as Readonly<Record<string, unknown>>;
}

/** The fields that are the client's, and are given. */
function clientFields(
  input: JsonObject,
  dropped: ReadonlySet<unknown>,
  optional: ReadonlySet<string>,
): JsonObject {
  const all: JsonObject = {};
  for (const [name, value] of Object.entries(input))
    if (!dropped.has(name) && (value !== null || !optional.has(name))) setMember(all, name, value);
  return all;
}

/** A check that is compiled on first use, since few services ever need it, or now if that would take long. */
export function compileOnFirstUse(
  declaration: Parameters<typeof compileCheck>[0],
): ReturnType<typeof compileCheck> {
  let check = isLarge(declaration) ? compileCheck(declaration) : undefined;
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

/** Returns a function that compiles schemas. The check of a schema returns the first failure; none: the value is valid. */
export function firstFailures(): (schema: object) => (value: unknown) => readonly Failure[] {
  const ajv = createAjv({ allErrors: false });
  return (schema) => {
    const validate = ajv.compile(schema);
    return (value) => (validate(value) ? [] : (validate.errors ?? []).map(failureOf));
  };
}
