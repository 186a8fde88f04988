import type { Ajv2020, ValidateFunction } from 'ajv/dist/2020.js';
import type { AnyValidateFunction } from 'ajv/dist/types/index.js';
import { RefusedError } from '../errors/exit-error.js';
import { invalid, invalidBody, MAX_FAILURES } from '../errors/input-errors.js';
import type { JsonObject } from '../json.js';
import { sharedAjv } from './ajv.js';
import { failureOf } from './failure-messages.js';
import type { Normalization } from './normalization.js';
import { WorkLimitError, withinLimit } from './work-limit.js';

/** The rules of the fields of a body. */
export interface FieldRules {
  /** The name of the collection, for messages. */
  readonly name?: string;
  /** JSON Schema of the client's fields. Other fields are stored unchanged, unless it forbids them. */
  readonly schema: {
    readonly type: 'object';
    readonly required: readonly string[];
    readonly additionalProperties?: unknown;
    readonly properties: Readonly<Record<string, object>>;
    readonly [keyword: string]: unknown;
  };
  /** The schemas that this one refers to, and what compiles a schema with them; absent: it refers to none. */
  readonly referred?: {
    readonly compile: (
      schema: object,
      allErrors: boolean,
    ) => ReturnType<typeof Ajv2020.prototype.compile<JsonObject>>;
    readonly schemas: readonly object[];
  };
  /** The steps of a field before validation. */
  readonly normalize: Readonly<Record<string, readonly Normalization[]>>;
}

/** Units of work to find the first failure, and to find all. */
const [FIRST_WORK, ALL_WORK] = [8_000_000, 100_000];

/** Characters of schemas from which on their compilation takes tens of milliseconds: no request waits for it. */
const LARGE = 8000;

/** Whether a start compiles rules, instead of the first request that needs them. */
export const isLarge = ({ schema, referred }: FieldRules): boolean =>
  JSON.stringify([schema, ...(referred?.schemas ?? [])]).length > LARGE;

/** Compiles a validator, as V8 otherwise does in the first validation. Throws RefusedError. */
export function compiled<V extends AnyValidateFunction>(compile: () => V, name = 'the schema'): V {
  try {
    const validate = compile();
    validate({});
    return validate;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    // The stack overflows, since rules need more code than V8 compiles.
    throw new RefusedError(
      `${name} has more rules than can be compiled: at most about 1,000 fields, items or alternatives`,
    );
  }
}

/**
 * Compiles a check that throws the 400 of an invalid body. The first failure is found first: it costs little, since sizes and
 * lengths are compared before what takes longer. All failures are found in a second validation, unless this takes long.
 */
export function compileValidation(rules: FieldRules): (body: JsonObject) => void {
  const { schema, referred, name } = rules;
  const compile = (allErrors: boolean) =>
    compiled(
      () => referred?.compile(schema, allErrors) ?? sharedAjv(allErrors).compile<JsonObject>(schema),
      name,
    );
  const first = compile(false);
  let all = isLarge(rules) ? compile(true) : undefined;
  return (body) => {
    if (isValid(first, body)) return;
    const firstErrors = first.errors ?? [];
    all ??= compile(true);
    const errors = allErrors(all, body) ?? firstErrors;
    // The branch of an `if` has failures of its own.
    const failures = errors.filter(({ keyword }) => keyword !== 'if').slice(0, MAX_FAILURES);
    // Several schemas of a value may have one rule: a `$ref` and the keywords beside it, or branches of `anyOf`.
    const distinct = new Map(
      failures.map(failureOf).map((each) => [`${each.path} ${each.message}`, each] as const),
    );
    throw invalid([...distinct.values()]);
  };
}

function isValid(validate: ValidateFunction<JsonObject>, body: JsonObject): boolean {
  try {
    return withinLimit(FIRST_WORK, validate, body);
  } catch (error) {
    throw error instanceof WorkLimitError ? invalidBody(error.message, 'complexity') : error;
  }
}

/** Undefined: the failures are too many, or take too long to find. */
function allErrors(
  validate: ValidateFunction<JsonObject>,
  body: JsonObject,
): ValidateFunction['errors'] | undefined {
  try {
    withinLimit(ALL_WORK, validate, body);
    return validate.errors;
  } catch (error) {
    if (error instanceof WorkLimitError) return undefined;
    throw error;
  }
}
