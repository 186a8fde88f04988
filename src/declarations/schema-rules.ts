import type { ErrorObject } from 'ajv/dist/2020.js';
import type { AnyValidateFunction } from 'ajv/dist/types/index.js';
import { nearest } from '../errors/edit-distance.js';
import { clone, isObject, type Json, type JsonObject, member } from '../json.js';
import { KEYWORDS } from '../validation/ajv.js';
import { failureOf } from '../validation/failure-messages.js';
import { compilePattern, faultOfPattern } from '../validation/pattern.js';
import { OWNED } from '../validation/validation.js';
import { WorkLimitError, withinLimit } from '../validation/work-limit.js';
import { FIELD_KEYWORDS, isGiven } from './field-keywords.js';
import type { Place, Role } from './places.js';
import { type Rule, rule } from './rule.js';
import { baseOf } from './schema-files.js';

/** The keywords of the service that have an effect in the schema of a field, of an item and of a member. */
const EFFECTIVE: Partial<Readonly<Record<Role, readonly string[]>>> = {
  field: [...FIELD_KEYWORDS, 'default'],
  items: ['x-references', 'x-on-delete'],
  member: ['default'],
};
const FIELD = 'to a field of the record, in /properties/<field>, or in what that refers to by $ref or allOf';
/** Where the keywords of the service belong. */
const PROPER_PLACES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(FIELD_KEYWORDS.map((keyword) => [keyword, FIELD])),
  'x-references': `${FIELD}, or to the items of one`,
  'x-on-delete': `${FIELD}, or to the items of one`,
  'x-collection': 'at the top of the file of a collection',
  default: 'to members of objects that are always validated',
};

/** Rules about the schemas that apply to records. A keyword without effect may be meant to protect. */
export const SCHEMA_RULES: readonly Rule<Place>[] = [
  rule(
    '/*',
    ({ validators }, _, [name]) =>
      `unknown keyword: "${name}"${nearest(name!, Object.keys(validators?.strict.RULES.keywords ?? {}))}`,
    ({ validators }, _, [name]) =>
      validators
        ? !Object.hasOwn(validators.strict.RULES.keywords, name!)
        : name!.startsWith('x-') && !KEYWORDS.includes(name!),
  ),
  rule(
    '/*',
    (_, __, [name]) => `has no effect here: it belongs ${PROPER_PLACES[name!]}`,
    ({ role, schema, file, pointer }, _, [name]) =>
      Object.hasOwn(PROPER_PLACES, name!) &&
      !EFFECTIVE[role]?.includes(name!) &&
      !(name === 'x-collection' && pointer === '' && !file.startsWith('_')) &&
      isGiven(schema, name!),
  ),
  rule(
    '/properties/__proto__',
    'cannot be declared: no rule of it would be checked',
    (_, value) => value !== undefined,
  ),
  rule(
    '/properties/*/default',
    'a field that is never returned cannot have a default: each patch would set it again',
    ({ role, root }, value, [name]) => {
      const field = fieldOf(root.schema, name!);
      const isAlways = role === 'record' || role === 'record-part';
      return value !== undefined && isAlways && isObject(field) && field.writeOnly === true;
    },
  ),
  rule('', 'leads back to itself by a reference: its validation would not end', ({ isEndless }) => isEndless),
  rule(
    '/format',
    ({ validators }, value) =>
      `unknown format "${value}"${nearest(String(value), Object.keys(validators!.strict.formats))}`,
    ({ validators }, value) =>
      typeof value === 'string' && validators && !Object.hasOwn(validators.strict.formats, value),
  ),
  rule(
    '/$ref',
    (_, value) => `can't resolve reference ${value}`,
    (place, value) => typeof value === 'string' && !place.files.referred(place),
  ),
  rule(['/pattern', '/patternProperties/*'], (_, value, [name]) => {
    const pattern = name ?? value;
    return typeof pattern === 'string' ? faultOfPattern(pattern) : undefined;
  }),
  rule(
    ['/required/*', '/dependentRequired/*', '/dependentRequired/*/*', '/dependentSchemas/*'],
    (_, value, names) => `the service sets "${OWNED.has(value) ? value : names.at(-1)}": no body can give it`,
    ({ role }, value, names) => role.startsWith('record') && (OWNED.has(value) || OWNED.has(names.at(-1))),
  ),
  rule(
    '/required/*',
    (_, name) => `requires "${name}", which is not declared, and additionalProperties is false`,
    ({ schema, isNegated }, name) => !isNegated && !OWNED.has(name) && isClosedTo(schema, name!),
  ),
  rule(
    '/*',
    (_, __, [low]) => `is more than ${upperBoundOf(low!)}: no value is valid`,
    ({ schema }, value, [low]) => Number(value) > Number(schema[upperBoundOf(low!)]),
  ),
  rule(
    '/default',
    (place, value) => prefixed('violates its own schema: ', judgeOf(place)(value!)),
    ({ validators, isNegated, pointer }, value) =>
      validators && !isNegated && value !== undefined && pointer !== '',
  ),
  rule(
    ['/const', '/enum'],
    fixedFault,
    ({ validators, isNegated, schema }, value) =>
      validators && !isNegated && value !== undefined && !('const' in schema && value === schema.enum),
  ),
];

/** The keyword of the upper bound that belongs to a lower one. */
const upperBoundOf = (low: string): string => low.replace(/^min/, 'max').replace('Min', 'Max');

const fieldOf = ({ properties }: JsonObject, name: string): Json | undefined =>
  isObject(properties) ? member(properties, name) : undefined;

const prefixed = (prefix: string, text: string | undefined) =>
  text === undefined ? undefined : prefix + text;

/** Why no value of a `const` or an `enum` is valid. */
function fixedFault(place: Place, given: Json | undefined): string | undefined {
  const values = given === place.schema.enum ? (given as Json[]) : [given!];
  // Each value of an enum is one of its own: to look each up would take quadratic time.
  const { enum: _, ...others } = place.schema;
  const judge = judgeOf({ ...place, schema: others.const === undefined ? others : place.schema });
  let first: string | undefined;
  for (const value of values) {
    const violation = judge(value);
    if (violation === undefined) return undefined;
    first ??= violation;
  }
  const subject = values.length > 1 ? 'has only values that violate' : 'violates';
  return prefixed(`${subject} the other rules: `, first);
}

/** Units of work. */
const MAX_WORK = 8_000_000;

/** Says why a value violates a schema; undefined: it does not, or the schema cannot be compiled, which is a fault of its own. */
function judgeOf(place: Place): (given: Json) => string | undefined {
  const validate = validatorOf(place);
  return (given) => {
    const value = clone(given);
    try {
      if (!validate || withinLimit(MAX_WORK, validate, value)) return undefined;
    } catch (error) {
      if (error instanceof WorkLimitError) return `it ${error.message}`;
      // The stack overflows.
      if (error instanceof RangeError)
        return 'contains itself without end: its members get it as a default again';
      throw error;
    }
    const { path, message } = failureOf(validate.errors![0] as ErrorObject);
    return `${path && `${path} `}${message}`;
  };
}

function validatorOf({ schema, file, pointer, validators }: Place): AnyValidateFunction | undefined {
  const { lenient } = validators!;
  try {
    return /"\$(?:ref|id)":/.test(JSON.stringify(schema))
      ? lenient.getSchema(`${baseOf(file)}#${pointer.split('/').map(encodeURIComponent).join('/')}`)
      : lenient.compile(schema);
  } catch {
    return undefined;
  }
}

/** Whether objects can have no member of a name. A pattern that is not valid has a fault of its own. */
function isClosedTo({ additionalProperties, patternProperties, ...schema }: JsonObject, name: Json): boolean {
  if (additionalProperties !== false || typeof name !== 'string') return false;
  const patterns = isObject(patternProperties) ? Object.keys(patternProperties) : [];
  return (
    fieldOf(schema, name) === undefined &&
    !patterns.some((each) => faultOfPattern(each) !== undefined || compilePattern(each).test(name))
  );
}
