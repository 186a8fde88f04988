import type { Ajv2020 } from 'ajv/dist/2020.js';
import { RAW_KEY } from './failure-messages.js';

/** The code of a validator as the library generates it, changed where no option of the library does so. */
export const rewritten = (code: string): string => withOwnMembers(withRawKeys(code));

/**
 * The code of a validator that puts the names of members into paths as they are, between two RAW_KEY: to escape a long name
 * for every failure, and for every alternative that does not match, would take quadratic time.
 */
function withRawKeys(code: string): string {
  return code.replace(
    /\b(\w+)\.replace\(\/~\/g, *"~0"\)\.replace\(\/\\\/\/g, *"~1"\)/g,
    (_, key) => `${JSON.stringify(RAW_KEY)} + ${key} + ${JSON.stringify(RAW_KEY)}`,
  );
}

const INHERITED = new Set(Object.getOwnPropertyNames(Object.prototype));

/** The code of a validator that looks for own members also where `ownProperties` has no effect: in defaults and unevaluated ones. */
function withOwnMembers(code: string): string {
  return code
    .replace(/\b(data\d*)\.(\w+) === undefined/g, (test, data, name) =>
      INHERITED.has(name) ? `!Object.prototype.hasOwnProperty.call(${data}, "${name}")` : test,
    )
    .replace(/!(props\d*)\[(key\d*)\]/g, '!Object.prototype.hasOwnProperty.call($1, $2)');
}

/** A schema of which the generated code has each expression that is rewritten. */
const PROBE = {
  type: 'object',
  properties: { constructor: { type: 'integer', default: 1 } },
  anyOf: [{ properties: { a: { type: 'integer' } } }, { properties: { b: { type: 'integer' } } }],
  unevaluatedProperties: { type: 'integer' },
};

let isRequired = true;

/**
 * Throws, once in a process, if the validators do not do what the rewriting is for, since it finds nothing in the code of
 * another version of the library.
 */
export function requireRewritten(ajv: Ajv2020): void {
  if (!isRequired) return;
  const validate = ajv.compile(PROBE);
  const withDefault = {};
  const hasDefault = validate(withDefault) && Object.hasOwn(withDefault, 'constructor');
  const refusesInherited = !validate({ toString: '' });
  const hasRawKey = validate.errors?.[0]?.instancePath === `/${RAW_KEY}toString${RAW_KEY}`;
  if (!hasDefault || !refusesInherited || !hasRawKey)
    throw new Error('ajv generates other code than src/validation/rewritten-code.ts expects');
  ajv.removeSchema(PROBE);
  isRequired = false;
}
