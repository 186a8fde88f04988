import { readChecked } from '../../src/declarations/check-declarations.js';
import { declare } from '../support/collections.js';
import { declared } from '../support/declared.js';
import { testService } from '../support/service.js';
import t from '../support/test.js';
import { numbered, testFaults } from './faults.js';

const record = (properties: object, more: object = {}) => declared(properties, undefined, more);
const field = (a: unknown, more: object = {}) => record({ a }, more);
const text = { type: 'string' };
const fixed = { ...text, readOnly: true };
// biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
const holds = (name: string) => ({ if: { required: ['a'] }, then: { required: [name] } });

testFaults('a schema that contradicts itself is a fault, with its place', [
  // Fixed values and the other keywords.
  [field({ const: 'x', minLength: 3 }), 'a/const: violates the other rules: must have at least 3'],
  [field({ const: 'x', enum: ['y', 'z'] }), 'a/const: violates the other rules: must be one of'],
  [field({ const: 'x', pattern: '^[0-9]$' }), 'a/const: violates the other rules: must match'],
  [field({ ...text, const: 'x', format: 'date' }), 'a/const: violates'],
  [field({ type: 'number', const: 1.5, multipleOf: 1 }), 'a/const: violates'],
  [field({ type: 'object', const: {}, required: ['y'] }), 'a/const: violates the other rules: /y is'],
  [field({ enum: ['a', 'bb'], minLength: 3 }), 'a/enum: has only values that violate'],
  [field({ type: 'integer', enum: [1, 2], minimum: 3 }), 'a/enum: has only values'],
  [
    field({ type: 'array', items: { $ref: '#/$defs/d' } }, { $defs: { d: { const: 'a', minLength: 2 } } }),
    '/$defs/d/const: violates the other rules',
  ],
  // Bounds.
  [field({ minimum: 5, maximum: 3 }), 'a/minimum: is more than maximum: no value'],
  [field({ exclusiveMinimum: 6, exclusiveMaximum: 5 }), 'a/exclusiveMinimum: is more than exclusiveMaximum'],
  [field({ minLength: 5, maxLength: 3 }), 'a/minLength: is more than maxLength: no value'],
  [field({ minItems: 3, maxItems: 2 }), 'a/minItems: is more than maxItems'],
  [field({ contains: text, minContains: 3, maxContains: 2 }), 'a/minContains: is more than maxContains'],
  [field(text, { minProperties: 3, maxProperties: 2 }), '/minProperties: is more than maxProperties'],
  [field({ type: 'array', items: { minLength: 2, maxLength: 1 } }), 'a/items/minLength: is more than'],
  // Members.
  [
    field(text, { required: ['b'], additionalProperties: false }),
    '/required/0: requires "b", which is not declared, and additionalProperties is false',
  ],
  [
    field(text, { required: ['b'], additionalProperties: false, patternProperties: { '^c': {} } }),
    '/required/0: requires "b", which is not declared',
  ],
  [
    field(text, { dependentRequired: { a: ['created_at'] } }),
    '/dependentRequired/a/0: the service sets "created_at"',
  ],
  [field(text, { dependentSchemas: { id: {} } }), '/dependentSchemas/id: the service sets "id"'],
  [field(text, { ...holds('a'), if: { required: ['id'] } }), '/if/required/0: the service sets "id"'],
]);

/** Declarations with rules that look strict, and that requests can obey. */
const VALID: readonly object[] = [
  field({ enum: ['a', 'bbb'], minLength: 3 }),
  field({ allOf: [{ enum: ['a', 'b'] }, { enum: ['b', 'c'] }] }),
  field({ type: 'number', minimum: 1, exclusiveMaximum: 2 }),
  field({ type: 'number', minimum: 0.1, maximum: 0.3, multipleOf: 0.1 }),
  field({ type: 'integer', minimum: 5, maximum: 5, multipleOf: 5 }),
  field({ type: ['string', 'null'], const: null }),
  field({ type: ['integer', 'null'], enum: [1, null], minimum: 1 }),
  field({ type: 'array', items: false, contains: false, minContains: 0, maxContains: 0 }),
  record({ a: text }, { required: ['b'], additionalProperties: false, patternProperties: { '^b': true } }),
  record({ a: text, b: { ...fixed, default: 'x' } }, { required: ['a'], dependentRequired: { a: ['b'] } }),
  record(
    { a: text, b: { ...text, 'x-set': '$caller' } },
    { required: ['a'], dependentRequired: { a: ['b'] } },
  ),
  field({ type: 'string', maxLength: 2000, 'x-index': true, default: 'x' }),
  field({}, { additionalProperties: false, required: ['a'], patternProperties: { '^x$': {} } }),
  field(record({ b: {} }, { required: ['b'], unevaluatedProperties: false })),
  record({}, { not: { required: ['x'], additionalProperties: false } }),
  field(record({ p: { type: 'object', default: { q: 1 }, required: ['q'] } })),
  field({ type: 'string', maxLength: 20000, 'x-search': true }),
  field({ type: ['string', 'null'], 'x-references': 'users', default: null }),
  record({ a: text, b: text }, { oneOf: [{ required: ['a'] }, { required: ['b'] }] }),
  record({ a: text, b: fixed }, { anyOf: [{ required: ['a'] }, { required: ['b'] }] }),
  // A part of another declaration, whose other fields are forbidden.
  field(true, {
    additionalProperties: false,
    allOf: [{ ...record({ a: text, b: text }), dependentRequired: { b: ['c'] } }],
  }),
];

t.test('rules that some request obeys are none', (t) => {
  for (const declaration of VALID) {
    const COLLECTIONS = declare(t, { 'c.json': declaration });
    t.doesNotThrow(() => readChecked(COLLECTIONS, '', new Set()), JSON.stringify(declaration));
  }
  t.end();
});

/** Declarations of which several schemas together accept no record with `a`. */
const REFUSING: readonly object[] = [
  field({ ...text, minLength: 5, allOf: [{ maxLength: 3 }] }),
  field({ ...text, not: text }),
  field({ oneOf: [true, {}] }),
  field({ $ref: '#' }, { required: ['a'] }),
  field(text, { not: {} }),
  field(text, { propertyNames: { minLength: 2 } }),
  field(text, { required: ['b'], unevaluatedProperties: false }),
  field({ ...text, format: 'date', maxLength: 5 }),
];

t.test('schemas that contradict each other refuse each record', async (t) => {
  const { send } = await testService(t, { COLLECTIONS: declare(t, numbered(REFUSING)), MIGRATE: 'auto' });
  for (const [at, declaration] of REFUSING.entries()) {
    const { status, json } = await send('POST', `/c${at}`, { body: { a: 'x' } });
    t.equal(status, 400, JSON.stringify(declaration), { json });
  }
});

t.test('an enum of 100,000 values is compared with the other rules', (t) => {
  const values = Array.from({ length: 100_000 }, (_, at) => `v${at}`);
  const read = (rules: object) => {
    const notes = field({ ...text, enum: values, default: 'v9', ...rules });
    return readChecked(declare(t, { 'notes.json': notes }), '', new Set());
  };
  t.equal(read({}).collections.length, 2);
  t.throws(() => read({ maxLength: 1 }), /\/a\/enum: has only values that violate the other rules/);
  t.end();
});
