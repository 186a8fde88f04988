import type { Ajv2020, ValidateFunction } from 'ajv/dist/2020.js';
import { invalid, invalidBody, MAX_FAILURES } from '../errors/input-errors.js';
import type { Json, JsonObject } from '../json.js';
import { sharedAjv } from './ajv.js';
import { failureOf } from './failure.js';
import type { Normalization } from './normalization.js';
import { WorkLimitError, withinLimits } from './work-limit.js';

/** The rules of the fields of a body. */
export interface FieldRules {
  /** JSON Schema of the client's fields. Other fields are stored unchanged, unless it forbids them. */
  readonly schema: {
    readonly type: 'object';
    readonly required: readonly string[];
    readonly additionalProperties?: unknown;
    readonly properties: Readonly<Record<string, object>>;
    readonly [keyword: string]: unknown;
  };
  /** The schemas that this one refers to, and the validators with them; absent: it refers to none. */
  readonly referred?: {
    readonly ajv: (allErrors: boolean) => Ajv2020;
    readonly schemas: () => readonly object[];
  };
  /** The steps of a field before validation. */
  readonly normalize: Readonly<Record<string, readonly Normalization[]>>;
}

/** Limits of a validation with the first failure, and of one with all. */
const FIRST_LIMITS = { work: 2_000_000, failures: 100_000 };
const ALL_LIMITS = { work: 20_000, failures: 10_000 };
/** The product of the values of a body and those of its schema up to which all failures are looked for, and characters. */
const MAX_COMPARISONS = 100_000;
const MAX_CHARACTERS = 16_384;

/**
 * Compiles a check that throws the 400 of an invalid body. The first failure is found first: it costs little, since sizes and
 * lengths are compared before what takes longer. All failures are found in a second validation, which a large body does not get.
 */
export function compileValidation({ schema, referred }: FieldRules): (body: JsonObject) => void {
  const compile = (allErrors: boolean) => (referred?.ajv ?? sharedAjv)(allErrors).compile<JsonObject>(schema);
  const first = compile(false);
  let all: ValidateFunction<JsonObject> | undefined;
  let weight: number | undefined;
  return (body) => {
    if (isValid(first, body)) return;
    weight ??= weightOf([schema, ...(referred?.schemas() ?? [])]);
    let errors = first.errors ?? [];
    if (new Size(MAX_COMPARISONS / weight, MAX_CHARACTERS).fits(body)) {
      all ??= compile(true);
      errors = allErrors(all, body) ?? errors;
    }
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
    return withinLimits(FIRST_LIMITS, () => validate(body));
  } catch (error) {
    throw error instanceof WorkLimitError ? invalidBody(error.reason, 'complexity') : error;
  }
}

/** Undefined: the failures are too many, or take too long to find. */
function allErrors(
  validate: ValidateFunction<JsonObject>,
  body: JsonObject,
): ValidateFunction['errors'] | undefined {
  try {
    withinLimits(ALL_LIMITS, () => validate(body));
    return validate.errors;
  } catch (error) {
    if (error instanceof WorkLimitError) return undefined;
    throw error;
  }
}

/** Values in schemas. */
function weightOf(schemas: readonly object[]): number {
  const size = new Size(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);
  size.fits(schemas as unknown as Json);
  return size.values;
}

/** Counts the values and the characters of a body up to a limit. */
class Size {
  values = 0;
  #characters = 0;

  constructor(
    readonly maxValues: number,
    readonly maxCharacters: number,
  ) {}

  fits(value: Json): boolean {
    this.values++;
    if (typeof value === 'string') this.#characters += value.length;
    if (this.values > this.maxValues || this.#characters > this.maxCharacters) return false;
    if (typeof value !== 'object' || value === null) return true;
    if (Array.isArray(value)) return value.every((each) => this.fits(each));
    return Object.keys(value).every((key) => this.fits(key) && this.fits(value[key]!));
  }
}
