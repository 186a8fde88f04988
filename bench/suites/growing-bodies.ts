import {
  arrayOf,
  BODY,
  filled,
  type Input,
  JSON_TYPE,
  KIB,
  members,
  objectOf,
  post,
} from './growing-input.js';

const text = { type: 'string' };
const KEYWORDS: Readonly<Record<string, object>> = {
  unique: { type: 'array', uniqueItems: true },
  enums: { type: 'array', items: { enum: ['a', 'b', { c: 1 }] } },
  alternatives: { type: 'array', items: { anyOf: [{ type: 'number', minimum: 5 }, { type: 'null' }] } },
  one: { type: 'array', items: { oneOf: [{ type: 'number' }, { type: 'boolean' }] } },
  contained: { type: 'array', contains: { const: 'x' } },
  multiples: { type: 'array', items: { type: 'number', multipleOf: 0.01 } },
  mails: { type: 'array', items: { type: 'string', format: 'email' } },
  urls: { type: 'array', items: { type: 'string', format: 'url' } },
  uris: { type: 'array', items: { type: 'string', format: 'uri' } },
  templates: { type: 'array', items: { type: 'string', format: 'uri-template' } },
  times: { type: 'array', items: { type: 'string', format: 'date-time' } },
  hosts: { type: 'array', items: { type: 'string', format: 'hostname' } },
  addresses: { type: 'array', items: { type: 'string', format: 'ipv6' } },
  patterns: { type: 'array', items: { type: 'string', pattern: '^[a-z]+$' } },
  named: { type: 'object', propertyNames: { maxLength: 3 } },
  counted: { type: 'object', maxProperties: 3 },
  extra: { type: 'object', additionalProperties: { type: 'number' } },
  matching: { type: 'object', patternProperties: { '^k': { type: 'number' } }, unevaluatedProperties: false },
};

const MANY_RULES = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`f${n}`, text]));

/** The collections to which the inputs are sent. */
export const DECLARED: Readonly<Record<string, object>> = {
  'rules.json': { type: 'object', properties: KEYWORDS },
  'texts.json': {
    type: 'object',
    properties: {
      title: { type: 'string', maxLength: 8000, 'x-normalize': ['nfc'] },
      note: { type: 'string', maxLength: 100_000, 'x-normalize': ['trim', 'nfc', 'lower'], 'x-search': true },
      price: { type: 'number', 'x-index': true },
    },
    'x-collection': { list: 'page' },
  },
  'demanding.json': { type: 'object', required: Object.keys(MANY_RULES), properties: MANY_RULES },
};

const body = (name: string, field: (bytes: number) => string, path = '/items', bytes = BODY): Input => ({
  name: `JSON: ${name}`,
  bytes,
  sent: (size) => post(path, JSON_TYPE, `{"name":"x",${field(size)}}`),
});

/** JSON that is large in one way each. */
export const BODIES: readonly Input[] = [
  body('numbers', (n) => `"a":${arrayOf(n, '0')}`),
  body('long numbers', (n) => `"a":${arrayOf(n, '0.1234567890123456')}`),
  body('exponents', (n) => `"a":${arrayOf(n, '1e-320')}`),
  body('one number', (n) => `"a":0.${'1'.repeat(n)}`),
  body('zeros at the end', (n) => `"a":1${'0'.repeat(n)}`),
  body('zeros before the end', (n) => `"a":1.${'0'.repeat(n)}1`),
  body('an exponent', (n) => `"a":1e${'0'.repeat(n)}1`),
  body('texts', (n) => `"a":${arrayOf(n, '"é"')}`),
  body('escapes', (n) => `"a":"${'\\u00e9'.repeat(n / 6)}"`),
  body('surrogates', (n) => `"a":"${'\\ud83d\\ude00'.repeat(n / 12)}"`),
  body('objects', (n) => `"a":${arrayOf(Math.min(n, 290_000), '{}')}`),
  body('members', (n) => `"a":${members(n)}`),
  body('equal names', (n) => `"a":{${filled(Math.min(n, 68_000), '"a":1')}}`),
  body(
    'integer names',
    (n) => `"a":${objectOf(Math.min(n, 110_000), (at) => `"${(at * 7919) % 1_000_003}":1`)}`,
  ),
  body('long names', (n) => `"a":{"${'k'.repeat(n)}":1}`),
  body('names to escape', (n) => `"a":{"${'/~'.repeat(n / 4)}":${arrayOf(n / 2, '1')}}`),
  body('a depth too much', (n) => `"a":${'['.repeat(n / 2)}${']'.repeat(n / 2)}`),
  body('blanks', (n) => `"a":1${' '.repeat(n)}`),
  body('line breaks, then a fault', (n) => `"a":1${'\n'.repeat(n)}]`),
  body('a fault at the end', (n) => `"a":${arrayOf(n, '0')},`),
  body('blanks around a name', (n) => `"name":"${' '.repeat(n / 2)}x${' '.repeat(n / 2)}"`),
];

/** Values for each keyword. */
const VALUES: Readonly<Record<string, (bytes: number) => string>> = {
  numbers: (n) => arrayOf(n, (at) => String(at)),
  decimals: (n) => arrayOf(n, (at) => `${at}.015`),
  texts: (n) => arrayOf(n, (at) => `"a${at}"`),
  addresses: (n) => arrayOf(n, '"a.b-c@d.e:1:2//%7B?x=1"'),
  'one text': (n) => `["${'a'.repeat(n)}!"]`,
  'one dotted text': (n) => `["${'a.'.repeat(n / 2)}@b:/"]`,
  'one URL': (n) => `["http://a.b/${'%20{x}:-'.repeat(n / 8)}<"]`,
  objects: (n) => arrayOf(Math.min(n, 600_000), (at) => `{"a":${at},"b":[${at}]}`),
  members: (n) => objectOf(Math.min(n, 80_000), (at) => `"k${at}":"a"`),
};

/** The worst values for each keyword of JSON Schema. */
export const RULES: readonly Input[] = Object.keys(KEYWORDS).flatMap((keyword) =>
  Object.entries(VALUES).map(([name, value]) => ({
    name: `keyword ${keyword}: ${name}`,
    bytes: BODY,
    sent: (n: number) => post('/rules', JSON_TYPE, `{"${keyword}":${value(n)}}`),
  })),
);

const MARKS = ['\u0301\u0316', '\u0316\u0301', '\u0344', '\u1100\u1161', '\u0f73', '\u{1d165}'];

/** Texts that take long to normalize. */
export const NORMALIZED: readonly Input[] = [
  ...MARKS.flatMap((marks, at) =>
    (['title', 'note'] as const).map(
      (field): Input => ({
        name: `normalization of ${field}: kind ${at + 1}`,
        bytes: field === 'title' ? 120 * KIB : BODY,
        sent: (n) =>
          post('/texts', JSON_TYPE, `{"${field}":"a${marks.repeat(n / Buffer.byteLength(marks))}"}`),
      }),
    ),
  ),
  {
    name: 'normalization: final sigmas',
    bytes: BODY / 2,
    sent: (n) => post('/texts', JSON_TYPE, JSON.stringify({ note: 'Σ.'.repeat(n / 6) })),
  },
  {
    name: 'normalization of a name and an address',
    bytes: BODY / 2,
    sent: (n) => {
      const marks = `a${'\u0316\u0301'.repeat(n / 8)}`;
      return post('/users', JSON_TYPE, JSON.stringify({ email: `${marks}@example.org`, name: marks }));
    },
  },
  {
    name: 'normalization of a password',
    bytes: BODY / 2,
    sent: (n) =>
      post(
        '/users',
        JSON_TYPE,
        JSON.stringify({ email: 'a@example.org', name: 'a', password: '\u0316\u0301'.repeat(n / 4) }),
      ),
  },
];
