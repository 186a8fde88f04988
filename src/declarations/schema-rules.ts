import type { ErrorObject } from 'ajv/dist/2020.js';
import type { AnyValidateFunction } from 'ajv/dist/types/index.js';
import { nearest } from '../errors/edit-distance.js';
import { clone, isObject, type Json, type JsonObject } from '../json.js';
import type { createAjv } from '../validation/ajv.js';
import { failureOf } from '../validation/failure.js';
import { compilePattern, faultOfPattern } from '../validation/pattern.js';
import { WorkLimitError, withinLimit } from '../validation/work-limit.js';
import { isApplied } from './keyword-rules.js';
import type { Place } from './places.js';
import { type Rule, rule, where } from './rule.js';
import { baseOf, nodesIn, type SchemaFiles, type SchemaNode } from './schema-files.js';

type Ajv = ReturnType<typeof createAjv>;

/** A schema with the validators of all files: a strict one, and one that leaves out what it does not know. */
export interface ValidatedPlace extends Place {
  readonly strict: Ajv;
  readonly lenient: Ajv;
  /** Schemas with a dynamic anchor that another one has. */
  readonly ambiguous: ReadonlySet<JsonObject>;
}

/** Keywords that restrict the values of one type alone. */
const OF_TYPE: Readonly<Record<string, readonly string[]>> = {
  string: ['minLength', 'maxLength', 'pattern'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  array: ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems', 'contains'],
  object: ['properties', 'required', 'minProperties', 'maxProperties', 'patternProperties', 'propertyNames'],
};
/** Keywords that have an effect only beside one of others. */
const COMPANIONS: ReadonlyMap<string, readonly string[]> = new Map([
  ['if', ['then', 'else']],
  ['then', ['if']],
  ['else', ['if']],
  ['minContains', ['contains']],
  ['maxContains', ['contains']],
]);
/** Bounds of one schema, the lower one first. */
const BOUNDS: readonly (readonly [low: string, high: string])[] = [
  ['minimum', 'maximum'],
  ['exclusiveMinimum', 'maximum'],
  ['minimum', 'exclusiveMaximum'],
  ['exclusiveMinimum', 'exclusiveMaximum'],
  ['minLength', 'maxLength'],
  ['minItems', 'maxItems'],
  ['minContains', 'maxContains'],
  ['minProperties', 'maxProperties'],
];
/** Members that the service sets. A body may have them, and no rule of a declaration sees them. */
export const OWNED: readonly unknown[] = ['id', 'created_at', 'updated_at', '_version', '_links'];

const isOfRecord = ({ role }: ValidatedPlace): boolean => role.startsWith('record');
const isAsserted = ({ isNegated }: ValidatedPlace): boolean => !isNegated;
const isUsed = ({ role }: ValidatedPlace): boolean => isApplied(role);
const isReached = ({ role }: ValidatedPlace): boolean => role !== 'unused';

/** Rules about the keywords of JSON Schema: what a validator does not know, cannot compile or can never accept, or ignores. */
export const SCHEMA_RULES: readonly Rule<ValidatedPlace>[] = [
  ...where(isReached, [
    // The rules of the service's own keywords find others that begin with x-.
    rule(
      '/*',
      ({ strict }, _, [name]) =>
        `unknown keyword: "${name}"${nearest(name!, Object.keys(strict.RULES.keywords))}`,
      ({ strict }, _, [name]) => !name!.startsWith('x-') && !Object.hasOwn(strict.RULES.keywords, name!),
    ),
    rule(
      '/format',
      ({ strict }, value) =>
        `unknown format "${value}"${nearest(String(value), Object.keys(strict.formats))}`,
      ({ strict }, value) => typeof value === 'string' && !Object.hasOwn(strict.formats, value),
    ),
    rule(
      ['/$ref', '/$dynamicRef'],
      (_, value) => `can't resolve reference ${value}`,
      ({ files, base }, value) => typeof value === 'string' && !files.resolve(value, base),
    ),
    rule('/pattern', (_, value) => (typeof value === 'string' ? faultOfPattern(value) : undefined)),
    rule('/patternProperties/*', (_, __, [name]) => faultOfPattern(name!)),
    rule(
      '/*',
      (_, __, [name]) => `has no effect without ${COMPANIONS.get(name!)!.join(' or ')}`,
      ({ schema }, _, [name]) => COMPANIONS.get(name!)?.every((each) => !(each in schema)),
    ),
    rule(
      '/minContains',
      'contains has no effect with minContains 0 and without maxContains',
      ({ schema }, value) => value === 0 && 'contains' in schema && !('maxContains' in schema),
    ),
  ]),
  ...where(isOfRecord, [
    rule(
      ['/required/*', '/dependentRequired/*/*'],
      (_, name) => `the service sets "${name}": no body can give it`,
      (_, name) => OWNED.includes(name),
    ),
    rule(
      ['/dependentSchemas/*', '/dependentRequired/*'],
      (_, __, [name]) => `the service sets "${name}": no body can give it`,
      (_, __, [name]) => OWNED.includes(name),
    ),
  ]),
  rule(
    '/$anchor',
    (_, name) => `another schema of the file has the anchor "${name}"`,
    (place, name) => typeof name === 'string' && place.files.isRepeated(place, '$anchor'),
  ),
  rule(
    '/$dynamicAnchor',
    (_, name) => `another schema has the dynamic anchor "${name}": use $anchor and $ref`,
    ({ ambiguous, schema }, name) => typeof name === 'string' && ambiguous.has(schema),
  ),
  rule(
    '/$id',
    ({ base }) => `is no URI, also not relative to ${base}`,
    ({ base, pointer }, id) => pointer !== '' && typeof id === 'string' && !URL.canParse(id, base),
  ),
  rule(
    '/$id',
    ({ base }) => `another schema has the identifier ${base.replace(/#$/, '')}`,
    (place, id) => place.files.isRepeated(place, '$id') && URL.canParse(String(id), place.base),
  ),
  rule(
    '/*',
    ({ schema }) => `has no effect on a value of type ${typesOf(schema)!.join(' or ')}`,
    ({ schema }, _, [name]) => isIdle(name!, typesOf(schema)),
  ),
  rule(
    '/enum',
    'has no element: no value is valid',
    (_, value) => Array.isArray(value) && value.length === 0,
  ),
  rule(
    ['/const', '/enum/*'],
    ({ schema }) => `is not of type ${typesOf(schema)!.join(' or ')}`,
    ({ schema }, value) => value !== undefined && !hasType(value, schema),
  ),
  ...BOUNDS.map(([low, high]) => rule<ValidatedPlace>(`/${low}`, (place) => crossing(place, low, high))),
  ...where(isAsserted, [
    rule(
      '/required/*',
      (_, name) => `requires "${name}", which is not declared, and additionalProperties is false`,
      ({ schema }, name) => !OWNED.includes(name) && isClosedTo(schema, name!),
    ),
    rule(
      '/required/*',
      (_, name) => `requires "${name}", which no record may have: its schema is false`,
      ({ schema }, name) => fieldsOf(schema)[String(name)] === false,
    ),
    ...where(isUsed, [
      rule('/default', defaultFault, ({ pointer }, value) => value !== undefined && pointer !== ''),
      rule(
        '/const',
        (place, value) => fixedFault(place, [value!]),
        (_, value) => value !== undefined,
      ),
      rule(
        '/enum',
        (place, values) => fixedFault(place, values as Json[]),
        ({ schema }, values) => {
          return Array.isArray(values) && schema.const === undefined;
        },
      ),
    ]),
  ]),
];

/** Schemas with a dynamic anchor that another one has, in files to which a collection leads: the way to a value would decide. */
export function ambiguousAnchors(record: SchemaNode, files: SchemaFiles): JsonObject[] {
  const reached = new Set([record.file]);
  const anchored: JsonObject[] = [];
  for (const file of reached)
    for (const node of nodesIn(files.root(file))) {
      if (node.schema.$dynamicAnchor !== undefined) anchored.push(node.schema);
      // Files that are added meanwhile are visited as well.
      for (const each of files.referred(node)) reached.add(each.node.file);
    }
  const seen = new Set<Json>();
  return anchored.filter(({ $dynamicAnchor: name }) => seen.has(name!) || !seen.add(name!));
}

function crossing({ schema }: Place, low: string, high: string): string | undefined {
  const [least, most] = [schema[low], schema[high]].map((each) => Number(each ?? Number.NaN)) as [
    number,
    number,
  ];
  if (least > most) return `is more than ${high}: no value is valid`;
  const isStrict = `${low}${high}`.includes('exclusive');
  return isStrict && least === most ? `and ${high} leave no number: no value is valid` : undefined;
}

function defaultFault(place: ValidatedPlace, value: Json | undefined): string | undefined {
  const violation = judgeOf(place)(value!);
  return violation?.isCertain ? `violates its own schema: ${violation.reason}` : violation?.reason;
}

/** Why no value of a `const` or an `enum` is valid. Values of another type have faults of their own. */
function fixedFault(place: ValidatedPlace, values: readonly Json[]): string | undefined {
  if (!values.every((each) => hasType(each, place.schema))) return undefined;
  // Each value of an enum is one of its own: to look each up would take quadratic time.
  const { enum: _, ...others } = place.schema;
  const judge = judgeOf({ ...place, schema: others.const === undefined ? others : place.schema });
  let first: Violation | undefined;
  for (const value of values) {
    const violation = judge(value);
    if (!violation?.isCertain) return undefined;
    first ??= violation;
  }
  const subject = values.length > 1 ? 'has only values that violate' : 'violates';
  return first && `${subject} the other rules: ${first.reason}`;
}

/** Units of work. */
const MAX_WORK = 8_000_000;

/** `isCertain`: false if the validation did not end. */
interface Violation {
  readonly reason: string;
  readonly isCertain: boolean;
}

/** Says why a value violates a schema; undefined: it does not, or the schema cannot be compiled, which is a fault of its own. */
function judgeOf(place: ValidatedPlace): (given: Json) => Violation | undefined {
  const validate = validatorOf(place);
  return (given) => {
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
  };
}

function validatorOf({ schema, file, pointer, lenient }: ValidatedPlace): AnyValidateFunction | undefined {
  try {
    return /"\$(?:ref|dynamicRef|id)":/.test(JSON.stringify(schema))
      ? lenient.getSchema(`${baseOf(file)}#${pointer.split('/').map(encodeURIComponent).join('/')}`)
      : lenient.compile(schema);
  } catch {
    return undefined;
  }
}

const fieldsOf = ({ properties }: JsonObject): JsonObject => (isObject(properties) ? properties : {});

/** Whether objects can have no member of a name. A pattern that is not valid has a fault of its own. */
function isClosedTo({ additionalProperties, patternProperties, ...schema }: JsonObject, name: Json): boolean {
  if (additionalProperties !== false || typeof name !== 'string') return false;
  const patterns = isObject(patternProperties) ? Object.keys(patternProperties) : [];
  return (
    !Object.hasOwn(fieldsOf(schema), name) &&
    !patterns.some((each) => faultOfPattern(each) !== undefined || compilePattern(each).test(name))
  );
}

function isIdle(keyword: string, types: readonly string[] | undefined): boolean {
  const [of] = Object.entries(OF_TYPE).find(([, keywords]) => keywords.includes(keyword)) ?? [];
  if (types === undefined || of === undefined) return false;
  return !types.includes(of) && !(of === 'number' && types.includes('integer'));
}

function typesOf({ type }: JsonObject): readonly string[] | undefined {
  const types = typeof type === 'string' ? [type] : type;
  return Array.isArray(types) ? types.filter((each): each is string => typeof each === 'string') : undefined;
}

/** Whether a value has one of the types of a schema. */
const hasType = (value: Json, schema: JsonObject): boolean =>
  typesOf(schema)?.some((type) => {
    if (type === 'null') return value === null;
    if (type === 'integer') return Number.isInteger(value);
    if (type === 'array') return Array.isArray(value);
    return type === 'object' ? isObject(value) : typeof value === type;
  }) ?? true;
