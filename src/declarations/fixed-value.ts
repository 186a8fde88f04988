import type { ErrorObject } from 'ajv/dist/2020.js';
import type { AnyValidateFunction } from 'ajv/dist/types/index.js';
import { clone, type Json } from '../json.js';
import type { createAjv } from '../validation/ajv.js';
import { failureOf } from '../validation/failure.js';
import { WorkLimitError, withinLimit } from '../validation/work-limit.js';
import { baseOf, type SchemaNode } from './schema-files.js';

/** Units of work. */
const MAX_WORK = 8_000_000;

/** `isCertain`: false if the validation did not end. */
interface Violation {
  readonly reason: string;
  readonly isCertain: boolean;
}

/** Why a value violates a schema; undefined: it does not, or the schema cannot be compiled. */
export function violationOf(
  { schema, file, pointer }: SchemaNode,
  given: Json,
  ajv: ReturnType<typeof createAjv>,
): Violation | undefined {
  let validate: AnyValidateFunction | undefined;
  try {
    validate = /"\$(?:ref|dynamicRef|id)":/.test(JSON.stringify(schema))
      ? ajv.getSchema(`${baseOf(file)}#${pointer.split('/').map(encodeURIComponent).join('/')}`)
      : ajv.compile(schema);
  } catch {
    // A schema that cannot be compiled has a fault of its own.
    return undefined;
  }
  const value = clone(given);
  try {
    if (!validate || withinLimit(MAX_WORK, () => validate(value) as boolean)) return undefined;
  } catch (error) {
    if (error instanceof WorkLimitError)
      return { reason: `cannot be validated: it ${error.message}`, isCertain: false };
    // The stack overflows.
    if (error instanceof RangeError)
      return {
        reason: 'contains itself without end: its members get it as a default again',
        isCertain: false,
      };
    throw error;
  }
  const { path, message } = failureOf(validate.errors![0] as ErrorObject);
  return { reason: `${path && `${path} `}${message}`, isCertain: true };
}
