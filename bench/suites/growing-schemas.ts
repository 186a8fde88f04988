import {
  arrayOf,
  BODY,
  filled,
  type Input,
  JSON_TYPE,
  MIB,
  NDJSON,
  objectOf,
  post,
} from './growing-input.js';

const many = <T>(count: number, one: (n: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => one(n));
const named = <T>(count: number, one: (n: number) => T): Record<string, T> =>
  Object.fromEntries(many(count, (n) => [`k${n}`, one(n)]));
const items = (schema: object) => ({ type: 'array', items: schema });
const all = (count: number, one: (n: number) => object) => ({ allOf: many(count, one) });

const number = { type: 'number' };
const members = (bytes: number) => objectOf(Math.min(bytes, 110_000), (n) => `"k${n}":1`);
const list = (element: string) => (bytes: number) => arrayOf(bytes, element);
const empty = (bytes: number) => arrayOf(Math.min(bytes, 290_000), '{}');

/** Fields with very many entries of one keyword, and the value that is compared with most of them. */
const FIELDS: Readonly<Record<string, readonly [field: object, value: (bytes: number) => string]>> = {
  enumNumbers: [items({ enum: many(2000, (n) => n) }), list('1999')],
  enumTexts: [items({ enum: many(2000, (n) => `t${n}`) }), list('"t1999"')],
  enumObjects: [items({ enum: many(500, (n) => ({ a: [n, { b: n }] })) }), list('{"a":[499,{"b":499}]}')],
  constants: [items(all(100, () => ({ const: { a: [1, 2, 3] } }))), list('{"a":[1,2,3]}')],
  defaults: [items({ type: 'object', properties: named(300, () => ({ default: 1 })) }), empty],
  longDefaults: [items({ type: 'object', properties: { a: { default: 'x'.repeat(10_000) } } }), empty],
  anyOf: [items({ anyOf: many(400, (n) => ({ ...number, minimum: 399 - n })) }), list('0')],
  oneOf: [items({ oneOf: many(100, (n) => ({ const: n })) }), list('9')],
  anyEnum: [items({ anyOf: many(50, (m) => ({ enum: many(199, (n) => m * 199 + n) })) }), list('9949')],
  automata: [{ type: 'object', patternProperties: patterns(200, (n) => `^(a+)+${n}$`) }, members],
  linear: [{ type: 'object', patternProperties: patterns(500, (n) => `^k${n}$`) }, members],
  names: [{ type: 'object', propertyNames: { enum: many(10_000, (n) => `k${n}`) } }, members],
  dependents: [items({ dependentRequired: named(1000, () => ['x']) }), list('{"q":1}')],
  dependentSchemas: [items({ dependentSchemas: named(500, () => ({ minProperties: 1 })) }), list('{"q":1}')],
  required: [items(all(500, () => ({ required: ['a'] }))), list('{"a":1}')],
  allOf: [items(all(500, () => ({ ...number, minimum: 0 }))), list('1')],
  not: [items(all(300, (n) => ({ not: { const: n + 10 } }))), list('1')],
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  if: [items(all(100, (n) => ({ if: { minimum: n }, then: { maximum: 1000 }, else: number }))), list('1')],
  properties: [items({ type: 'object', properties: named(1000, () => number) }), empty],
  prefixItems: [items({ type: 'array', prefixItems: many(500, () => number) }), list('[1]')],
  lists: [all(500, () => items(number)), list('1')],
  lengths: [all(500, () => ({ maxLength: 2_000_000 })), (bytes) => `"${'a'.repeat(bytes)}"`],
  counts: [all(500, () => ({ maxProperties: 2_000_000 })), members],
  additional: [all(500, () => ({ additionalProperties: number })), members],
  unevaluated: [all(100, () => ({ unevaluatedProperties: number })), members],
  contained: [
    all(100, () => ({ contains: { const: 2 } })),
    (bytes) => `[${arrayOf(bytes, '1').slice(1, -1)},2]`,
  ],
  unique: [all(100, () => ({ uniqueItems: true })), (bytes) => arrayOf(bytes, (n) => `{"a":${n}}`)],
  multiples: [items(all(300, () => ({ multipleOf: 0.01 }))), list('1')],
  uris: [all(200, () => ({ format: 'uri' })), (bytes) => `"http://a.b/${'x'.repeat(bytes)}"`],
  dates: [items(all(300, () => ({ format: 'date-time' }))), list('"2026-01-31T12:00:00Z"')],
  references: [
    { ...items({ $ref: '#/properties/references/$defs/k0' }), $defs: named(300, chained) },
    list('1'),
  ],
};

function patterns(count: number, one: (n: number) => string): Record<string, object> {
  return Object.fromEntries(many(count, (n) => [one(n), number]));
}

function chained(n: number): object {
  return n === 299 ? number : { $ref: `#/properties/references/$defs/k${n + 1}` };
}

/** The name of a field in lower case is that of its collection. */
export const LARGE_DECLARED: Readonly<Record<string, object>> = Object.fromEntries(
  Object.entries(FIELDS).map(([name, [field]]) => [
    `large_${name.toLowerCase()}.json`,
    { type: 'object', properties: { [name]: field } },
  ]),
);

/** Values for large schemas, in one record and in many. */
export const LARGE_SCHEMAS: readonly Input[] = Object.entries(FIELDS).flatMap(([name, [, value]]) => {
  const path = `/large_${name.toLowerCase()}`;
  const lines = (bytes: number) => filled(bytes, `{"${name}":${value(bytes / 64)}}`, '\n');
  return [
    {
      name: `large ${name}`,
      bytes: BODY,
      sent: (bytes: number) => post(path, JSON_TYPE, `{"${name}":${value(bytes)}}`),
    },
    {
      name: `large ${name}, many records`,
      bytes: MIB,
      sent: (bytes: number) => post(path, NDJSON, lines(bytes)),
    },
  ];
});
