import { invalidArguments } from '../../errors/errors.js';
import type { JsonObject } from '../../json.js';
import { createAjv } from '../../validation/ajv.js';
import { failureOf } from '../../validation/failure.js';
import type { Tool } from './tools.js';

/** Throws 400 for arguments that a tool does not have. Sets the defaults of missing ones. */
export type CheckArguments = (args: JsonObject) => void;

/** Compiles the check of a tool's arguments, without the record: the collection checks that. */
export function compileArguments({ inputSchema, body }: Tool): CheckArguments {
  const { $defs: _, properties, ...rest } = inputSchema;
  const outer = body === undefined ? properties : { ...properties, [body]: { type: 'object' } };
  // The first failure, since a check of all would take as long as the arguments are.
  const validate = createAjv({ allErrors: false }).compile<JsonObject>({ ...rest, properties: outer });
  return (args) => {
    if (!validate(args)) throw invalidArguments((validate.errors ?? []).map(failureOf));
  };
}
