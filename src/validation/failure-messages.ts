import type { ErrorObject } from 'ajv/dist/2020.js';
import type { Failure } from '../errors/problem.js';
import { escapeToken } from '../json.js';

/** Encloses the name of a member in the path of an error. No valid body contains the character. */
export const RAW_KEY = '\0';

/** Characters of a path that are read. */
const MAX_PATH = 4096;

/** The JSON Pointer of an error. One of a very long path ends early, within the name of a member. */
function pointerOf(path: string): string {
  return path
    .slice(0, MAX_PATH)
    .split(RAW_KEY)
    .map((part, index) => (index % 2 === 0 ? part : escapeToken(part)))
    .join('');
}

/** A number of things: `1 item`, `2 items`. */
const count = (limit: number, one: string, many = `${one}s`) => `${limit} ${limit === 1 ? one : many}`;

const listed = (value: unknown) => (Array.isArray(value) ? value : [value]).join(' or ');

/** The message of a field that is none of those of a schema. */
const unknownField = (names: readonly string[]): string =>
  `is not a known field: there are ${names.join(', ')}`;

/** The message of each keyword. The others are those of the validator. */
const MESSAGES: Readonly<Record<string, (error: ErrorObject) => string>> = {
  additionalProperties: ({ parentSchema }) => unknownField(Object.keys(parentSchema?.properties ?? {})),
  unevaluatedProperties: () => 'is not a known field',
  enum: ({ params }) =>
    `must be one of ${params.allowedValues.map((value: unknown) => JSON.stringify(value)).join(', ')}`,
  const: ({ params }) => `must be ${JSON.stringify(params.allowedValue)}`,
  required: () => 'is required',
  dependentRequired: ({ params }) => `is required with ${params.property}`,
  dependencies: ({ params }) => `is required with ${params.property}`,
  type: ({ params }) => `must be of type ${listed(params.type)}`,
  minLength: ({ params: { limit } }) =>
    limit === 1 ? 'must not be empty' : `must have at least ${count(limit, 'character')}`,
  maxLength: ({ params: { limit } }) => `must have at most ${count(limit, 'character')}`,
  minItems: ({ params: { limit } }) => `must have at least ${count(limit, 'item')}`,
  maxItems: ({ params: { limit } }) => `must have at most ${count(limit, 'item')}`,
  // After the items of a tuple.
  items: ({ params: { limit } }) => `must have at most ${count(limit, 'item')}`,
  minProperties: ({ params: { limit } }) => `must have at least ${count(limit, 'member')}`,
  maxProperties: ({ params: { limit } }) => `must have at most ${count(limit, 'member')}`,
  minimum: ({ params }) => `must be at least ${params.limit}`,
  maximum: ({ params }) => `must be at most ${params.limit}`,
  exclusiveMinimum: ({ params }) => `must be more than ${params.limit}`,
  exclusiveMaximum: ({ params }) => `must be less than ${params.limit}`,
  multipleOf: ({ schema }) => `must be a multiple of ${schema}`,
  pattern: ({ params }) => `must match the pattern ${params.pattern}`,
  format: ({ params }) => `must be ${FORMATS[params.format] ?? `in the format ${params.format}`}`,
  uniqueItems: ({ params: { i, j } }) => `must not repeat an item: those at ${j} and ${i} are equal`,
  contains: ({ params: { minContains, maxContains } }) =>
    maxContains === undefined
      ? `must have at least ${count(minContains, 'matching item')}`
      : `must have ${minContains} to ${maxContains} matching items`,
  anyOf: () => 'must match one of the alternatives',
  oneOf: () => 'must match exactly one of the alternatives',
  not: () => 'must not have this value',
  'false schema': () => 'must be absent',
  propertyNames: () => 'has a name that is not valid',
  unevaluatedItems: () => 'has an item that is not allowed',
};

/** The description of a text of a format, with an example if it is not obvious. */
const FORMATS: Readonly<Record<string, string>> = {
  email: 'an email address',
  'date-time': 'a time with its zone, like 2026-01-31T12:00:00Z',
  date: 'a date, like 2026-01-31',
  time: 'a time of day with its zone, like 12:00:00Z',
  duration: 'a duration, like PT1H30M',
  uri: 'a URI',
  url: 'a URL',
  uuid: 'a UUID',
  hostname: 'a host name',
  ipv4: 'an IPv4 address',
  ipv6: 'an IPv6 address',
  'uri-reference': 'a URI, or one relative to another',
  'uri-template': 'a URI template',
  regex: 'a regular expression',
  'json-pointer': 'a JSON Pointer',
  'json-pointer-uri-fragment': 'a JSON Pointer as the fragment of a URI',
  'relative-json-pointer': 'a relative JSON Pointer',
  'iso-time': 'a time of day, like 12:00:00',
  'iso-date-time': 'a time, like 2026-01-31T12:00:00',
  byte: 'Base64',
  int32: 'an integer of 32 bits',
  int64: 'an integer of 64 bits',
  'password-hash': 'a hash of scrypt or bcrypt',
};

/** The message about a value that violates a keyword with this value: a number or a text. */
export const messageOf = (keyword: string, rule: unknown): string =>
  MESSAGES[keyword]!({ params: { limit: rule, pattern: rule, format: rule }, schema: rule } as never);

/** Never the rejected value: it may be a secret in the wrong field. */
export function failureOf(error: ErrorObject): Failure {
  const { keyword, params, instancePath, propertyName } = error;
  const { missingProperty, additionalProperty, unevaluatedProperty } = params;
  const named = missingProperty ?? additionalProperty ?? unevaluatedProperty ?? params.propertyName;
  const name = named ?? propertyName;
  const message = MESSAGES[keyword]?.(error) ?? error.message ?? 'is not valid';
  const path = pointerOf(instancePath);
  return {
    path: name === undefined ? path : `${path}/${escapeToken(String(name).slice(0, MAX_PATH))}`,
    message: propertyName === undefined ? message : `its name ${message}`,
    keyword,
  };
}
