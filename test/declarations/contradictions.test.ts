import { Ajv2020 } from 'ajv/dist/2020.js';
import { readChecked } from '../../src/declarations/check-declarations.js';
import { ImpossibleValues } from '../../src/declarations/impossible-values.js';
import { SchemaFiles } from '../../src/declarations/schema-files.js';
import { applying } from '../../src/declarations/schema-parts.js';
import type { Json, JsonObject } from '../../src/json.js';
import { declare } from '../support/collections.js';
import { plinth } from '../support/command.js';
import { integersOf } from '../support/runner/random.js';
import t, { type Test } from '../support/test.js';
import { times } from '../support/thorough.js';

const record = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });
const field = (a: unknown, more: object = {}) => record({ a }, more);
const text = { type: 'string' };
const imported = { ...text, 'x-import-only': true };
const fixed = { ...text, readOnly: true };
const set = { 'x-set': { value: '$now', when: { a: 'x' } }, type: 'string', format: 'date-time' };
// biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
const holds = (name: string) => ({ if: { required: ['a'] }, then: { required: [name] } });

/** Declarations of which a part has no value, each with the place of the fault and the beginning of its reason. */
const FAULTS: readonly (readonly [declaration: object, fault: string])[] = [
  // Fixed values and the other keywords.
  [
    field({ const: 'x', minLength: 3 }),
    '/properties/a/const: violates the other rules: must have at least 3',
  ],
  [field({ const: 'x', enum: ['y', 'z'] }), '/properties/a/const: has no value that the other rules allow'],
  [field({ const: 'x', pattern: '^[0-9]$' }), '/properties/a/const: violates the other rules: must match'],
  [field({ ...text, const: 'x', format: 'date' }), '/properties/a/const: violates'],
  [field({ type: 'number', const: 1.5, multipleOf: 1 }), '/properties/a/const: violates'],
  [
    field({ type: 'object', const: {}, required: ['y'] }),
    '/properties/a/const: violates the other rules: /y is',
  ],
  [field({ enum: ['a', 'bb'], minLength: 3 }), '/properties/a/enum: has only values that violate'],
  [field({ type: 'integer', enum: [1, 2], minimum: 3 }), '/properties/a/enum: has only values'],
  [field({ allOf: [{ enum: ['a'] }, { enum: ['b'] }] }), '/properties/a/allOf/1/enum: has no value'],
  [
    field({ ...text, 'x-references': 'users', enum: ['x'] }),
    '/properties/a/enum: violates the other rules: must be the id',
  ],
  // Ranges, of one schema and of several.
  [field({ minimum: 5, maximum: 3 }), '/properties/a/minimum: is more than maximum: no value'],
  [field({ exclusiveMinimum: 5, maximum: 5 }), '/properties/a/exclusiveMinimum: and maximum leave no number'],
  [
    field({ type: 'integer', exclusiveMinimum: 1, exclusiveMaximum: 2 }),
    '/properties/a/exclusiveMinimum: and exclusiveMaximum have no integer',
  ],
  [
    field({ type: 'integer', minimum: 1, maximum: 4, multipleOf: 5 }),
    '/properties/a/multipleOf: has no multiple from 1 to 4',
  ],
  [field({ minLength: 5, maxLength: 3 }), '/properties/a/minLength: is more than maxLength: no value'],
  [
    field({ format: 'date', maxLength: 5 }),
    '/properties/a/maxLength: is less than the 10 characters of format "date"',
  ],
  [
    field({ format: 'date', minLength: 11 }),
    '/properties/a/minLength: is more than the 10 characters of format "date"',
  ],
  [
    field({ pattern: '^[0-9]{13}$', maxLength: 10 }),
    '/properties/a/maxLength: is less than the 13 characters of pattern',
  ],
  [field({ minimum: 5, allOf: [{ maximum: 3 }] }), '/properties/a/minimum: is more than maximum in c'],
  [
    field({ minimum: 5 }, { allOf: [field({ maximum: 3 })] }),
    '/properties/a/minimum: is more than maximum in c',
  ],
  [
    field({ $ref: '#/$defs/d', minLength: 2 }, { $defs: { d: { maxLength: 1 } } }),
    '/properties/a/minLength: is more than maxLength in c',
  ],
  // Types.
  [
    field({ allOf: [text, { type: 'number' }] }),
    '/properties/a/allOf/0/type: has no type in common with type in c',
  ],
  [
    field({ $ref: '#/$defs/d', type: 'number' }, { $defs: { d: text } }),
    '/properties/a/type: has no type in common',
  ],
  [field({ ...text, not: text }), '/properties/a/type: has no type in common with not'],
  [
    field({ type: 'boolean', anyOf: [text, { type: 'number' }] }),
    '/properties/a/anyOf: has no schema that can hold',
  ],
  [
    field({ oneOf: [text, text] }),
    '/properties/a/oneOf: has no schema that can hold: /properties/a/oneOf/0 is there twice',
  ],
  [field({ oneOf: [true, {}] }), '/properties/a/oneOf: has more than one schema that always holds'],
  [field({ anyOf: [false, { not: {} }] }), '/properties/a/anyOf: has no schema that can hold'],
  // Arrays.
  [field({ minItems: 3, maxItems: 2 }), '/properties/a/minItems: is more than maxItems'],
  [field({ items: false, minItems: 1 }), '/properties/a/minItems: is more than the 0 items of items: false'],
  [
    field({ prefixItems: [text], items: false, minItems: 2 }),
    '/properties/a/minItems: is more than the 1 items',
  ],
  [
    field({ items: { enum: [1, 2] }, uniqueItems: true, minItems: 3 }),
    '/properties/a/minItems: is more than the 2 items of uniqueItems',
  ],
  [
    field({ contains: text, minContains: 3, maxItems: 2 }),
    '/properties/a/minContains: is more than maxItems',
  ],
  [field({ items: text, contains: { type: 'number' } }), '/properties/a/contains: no item can obey it'],
  [
    field({ type: 'array', items: { minLength: 2, maxLength: 1 } }),
    '/properties/a/items/minLength: is more than',
  ],
  [
    field({ type: 'array', items: { $ref: '#/$defs/d' } }, { $defs: { d: { const: 'a', minLength: 2 } } }),
    '/$defs/d/const: violates the other rules',
  ],
  [field({ contains: text, minContains: 0 }), '/properties/a/minContains: contains has no effect'],
  // Members.
  [
    field(text, { maxProperties: 0, required: ['a'] }),
    '/maxProperties: is less than the 1 members that each object has',
  ],
  [
    field(text, { minProperties: 2, additionalProperties: false }),
    '/minProperties: is more than the 1 members that an object can have',
  ],
  [
    field(fixed, { minProperties: 1, additionalProperties: false }),
    '/minProperties: is more than the 0 members',
  ],
  [
    field(text, { propertyNames: { minLength: 2 }, required: ['a'] }),
    '/required/0: requires "a", which propertyNames forbids',
  ],
  [
    field({ not: {} }, { required: ['a'] }),
    '/required/0: requires "a", which no record may have: its schema is false',
  ],
  [
    field({ $ref: '#/$defs/d' }, { required: ['a'], $defs: { d: false } }),
    '/required/0: requires "a", which no record may have',
  ],
  [
    field(text, { required: ['ab'], patternProperties: { '^ab': false } }),
    '/required/0: requires "ab", which no record may have',
  ],
  [
    field(text, { required: ['b'], unevaluatedProperties: false }),
    '/required/0: requires "b", which is not declared, and unevaluatedProperties',
  ],
  [field(text, { required: ['a'], not: { required: ['a'] } }), '/not: refuses members that each object has'],
  [
    field({ ...text, default: 'x' }, { not: { required: ['a'] } }),
    '/not: refuses members that each object has',
  ],
  [
    field({ $ref: '#' }, { required: ['a'] }),
    '/required/0: requires "a", which contains another one without end',
  ],
  [
    field({ type: 'integer', default: 7 }, { allOf: [field({ maximum: 3 })] }),
    '/properties/a/default: violates c',
  ],
  // The record.
  [field(text, { not: {} }), '/not: allows no value'],
  [field(text, { not: { type: 'object' } }), '/type: has no type in common with not'],
  [field(text, { allOf: [false] }), '/allOf/0: allows no value'],
  // Conditions.
  [
    field(text, { additionalProperties: false, dependentRequired: { a: ['b'] } }),
    '/dependentRequired/a/0: requires "b", which is not declared',
  ],
  [
    field(text, { additionalProperties: false, ...holds('b') }),
    '/then/required/0: requires "b", which is not declared',
  ],
  [
    record({ a: text, b: false }, { dependentRequired: { a: ['b'] } }),
    '/dependentRequired/a/0: requires "b", which no record may have',
  ],
  [
    field(text, { dependentRequired: { a: ['created_at'] } }),
    '/dependentRequired/a/0: the service sets "created_at"',
  ],
  [field(text, { dependentSchemas: { id: {} } }), '/dependentSchemas/id: the service sets "id"'],
  [field(text, { ...holds('a'), if: { required: ['id'] } }), '/if/required/0: the service sets "id"'],
  // Fields that no request can set.
  [
    record({ a: text, b: fixed }, { required: ['a'], dependentRequired: { a: ['b'] } }),
    '/dependentRequired/a/0: requires "b", which no request can set: it has readOnly',
  ],
  [
    record({ a: { ...text, default: 'x' }, b: imported }, { dependentRequired: { a: ['b'] } }),
    '/dependentRequired/a/0: requires "b", which no request can set: it has x-import-only',
  ],
  [
    record({ a: { ...text, default: 'x' }, b: set }, { dependentRequired: { a: ['b'] } }),
    '/dependentRequired/a/0: requires "b", which no request can set: it has x-set',
  ],
  [
    record({ b: fixed, c: fixed }, { anyOf: [{ required: ['b'] }, { required: ['c'] }] }),
    '/anyOf: has no schema that can hold',
  ],
  [
    record({ a: text, b: fixed }, { required: ['a'], dependentSchemas: { a: { required: ['b'] } } }),
    '/dependentSchemas/a/required/0: requires "b", which no request can set',
  ],
];

t.test('rules that no value obeys are a fault, with the place of one of them', async (t) => {
  const COLLECTIONS = declare(
    t,
    Object.fromEntries(FAULTS.map(([declaration], at) => [`c${at}.json`, declaration])),
  );
  const { code, err } = await plinth(t, ['collections', 'check'], { COLLECTIONS });
  t.equal(code, 78);
  const lines = err.replaceAll(`${COLLECTIONS}/`, '').replaceAll('plinth: ', '').trim().split('\n');
  for (const [at, [declaration, fault]] of FAULTS.entries()) {
    const found = lines.filter((line) => line.startsWith(`c${at}.json`));
    t.equal(found.length, 1, `one fault of ${JSON.stringify(declaration)}`, { found });
    t.ok(found[0]?.startsWith(`c${at}.json#${fault}`), `${fault} of ${JSON.stringify(declaration)}`, {
      found,
    });
  }
});

/** Declarations with rules that look strict, and that requests can obey. */
const VALID: readonly object[] = [
  field(false),
  field({ not: {} }),
  field({ not: true }),
  field({ $ref: '#/$defs/d' }, { $defs: { d: false } }),
  field({ $ref: '#/$defs/d' }, { required: ['a'], $defs: { d: true } }),
  field({ items: false }),
  field({ enum: ['a', 'bbb'], minLength: 3 }),
  field({ allOf: [{ enum: ['a', 'b'] }, { enum: ['b', 'c'] }] }),
  field({ type: 'number', minimum: 1, exclusiveMaximum: 2 }),
  field({ type: 'number', minimum: 0.1, maximum: 0.3, multipleOf: 0.1 }),
  field({ type: 'integer', minimum: 5, maximum: 5, multipleOf: 5 }),
  field({ type: ['string', 'null'], const: null }),
  field({ type: ['integer', 'null'], enum: [1, null], minimum: 1 }),
  field({ oneOf: [{ type: 'integer' }, { type: 'number' }] }),
  field({ type: 'array', items: false, contains: false, minContains: 0, maxContains: 0 }),
  field({ format: 'uuid', maxLength: 36 }),
  field({ pattern: '^[0-9]{3,13}$', maxLength: 10 }),
  field({ type: 'object', properties: { b: { $ref: '#/properties/a' } } }),
  field({ anyOf: [{ type: 'null' }, { $ref: '#' }] }, { required: ['a'] }),
  field({ type: 'array', items: { $ref: '#' } }, { required: ['a'] }),
  record({ ab: text }, { patternProperties: { '^a': { minLength: 2 } } }),
  record({ a: text, b: false }, { patternProperties: { '^b': true } }),
  record({ a: text }, { not: { required: ['b'] }, propertyNames: { maxLength: 3 } }),
  record({ a: text, b: { ...fixed, default: 'x' } }, { required: ['a'], dependentRequired: { a: ['b'] } }),
  record(
    { a: text, b: { ...text, 'x-set': '$caller' } },
    { required: ['a'], dependentRequired: { a: ['b'] } },
  ),
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

t.test('check warns of conditions that need what not every request can give', async (t) => {
  const self = { ...text, 'x-references': 'own' };
  const gone = { ...text, 'x-references': 'users', 'x-on-delete': 'null' };
  const COLLECTIONS = declare(t, {
    'a1.json': record({ a: text, b: fixed }, { dependentRequired: { a: ['b'] } }),
    'a2.json': record({ a: text, b: imported }, holds('b')),
    'a3.json': record({ a: text, b: { ...text, writeOnly: true } }, { allOf: [holds('b')] }),
    'a4.json': record({ a: text, b: gone }, { dependentSchemas: { a: { required: ['b'] } } }),
    'none.json': record({ a: fixed, b: fixed, c: text }, { dependentRequired: { a: ['b'] }, ...holds('c') }),
    'own.json': record({ a: self }, { required: ['a'] }),
    'pair.json': record({ a: { ...self, 'x-references': 'own' } }, { required: ['a'] }),
    'free.json': record(
      { a: { ...self, 'x-references': 'free', type: ['string', 'null'] } },
      { required: ['a'] },
    ),
  });
  const { code, err } = await plinth(t, ['collections', 'check'], { COLLECTIONS });
  t.equal(code, 0, err);
  const lines = err.replaceAll(`${COLLECTIONS}/`, '').trim().split('\n');
  t.same(
    lines.map((line) => /^warning: (\S+): /.exec(line)?.[1]),
    [
      'a1.json#/dependentRequired/a/0',
      'a2.json#/then/required/0',
      'a3.json#/allOf/0/then/required/0',
      'a4.json#/dependentSchemas/a/required/0',
      'own.json#/properties/a/x-references',
      'pair.json#/properties/a/x-references',
    ],
    lines.join('\n'),
  );
});

const NAMES = ['a', 'b', 'c'];
const SCALARS: readonly Json[] = [
  null,
  true,
  false,
  0,
  1,
  2,
  1.5,
  3,
  5,
  '',
  'a',
  'b',
  'ab',
  'abc',
  '2020-01-01',
];

function drawnValue(next: (below: number) => number, depth = 2): Json {
  const kind = next(depth > 0 ? 4 : 2);
  if (kind < 2) return SCALARS[next(SCALARS.length)]!;
  const values = Array.from({ length: next(4) }, () => drawnValue(next, depth - 1));
  return kind === 2
    ? values
    : Object.fromEntries(values.map((value, at) => [NAMES[(at + next(2)) % 3]!, value]));
}

function drawnSchema(next: (below: number) => number, depth = 2): Json {
  if (next(20) === 0) return next(2) === 0;
  const schema: JsonObject = {};
  const below = () => drawnSchema(next, depth - 1);
  const name = () => NAMES[next(3)]!;
  const keywords: Readonly<Record<string, () => Json>> = {
    type: () =>
      ['string', 'integer', 'number', 'boolean', 'null', 'array', 'object', ['string', 'null']][next(8)]!,
    const: () => drawnValue(next, 1),
    enum: () => [drawnValue(next, 1), drawnValue(next, 0)],
    minimum: () => next(4),
    maximum: () => next(4),
    exclusiveMinimum: () => next(3),
    exclusiveMaximum: () => next(4),
    multipleOf: () => [1, 2, 1.5, 5][next(4)]!,
    minLength: () => next(4),
    maxLength: () => next(4),
    format: () => 'date',
    pattern: () => ['^[a-z]{2}$', '^a', '^.?$'][next(3)]!,
    minItems: () => next(3),
    maxItems: () => next(3),
    uniqueItems: () => true,
    minProperties: () => next(4),
    maxProperties: () => next(3),
    required: () => [name()],
    dependentRequired: () => ({ [name()]: [name()] }),
    propertyNames: () => ({ enum: [name(), name()] }),
    ...(depth > 0 && {
      properties: () => ({ [name()]: below(), [name()]: below() }),
      patternProperties: () => ({ [`^${name()}`]: below() }),
      additionalProperties: () => (next(2) === 0 ? false : below()),
      unevaluatedProperties: () => false,
      dependentSchemas: () => ({ [name()]: below() }),
      items: below,
      prefixItems: () => [below()],
      contains: below,
      minContains: () => next(3),
      not: below,
      allOf: () => [below(), below()],
      anyOf: () => [below(), below()],
      oneOf: () => [below(), below()],
      $ref: () => '#/$defs/d',
    }),
  };
  const all = Object.keys(keywords);
  for (let left = 1 + next(4); left > 0; left--) {
    const keyword = all[next(all.length)]!;
    schema[keyword] = keywords[keyword]!();
  }
  return schema;
}

/** Schemas of a run, and values with which each that has none is compared. */
const DRAWN = times(300, 1500, 6000);
const COMPARED = 120;

t.test('no value obeys a drawn schema that is said to have none', (t: Test) => {
  const first = Number(process.env.PLINTH_GENERATED_SEED ?? 1);
  let found = 0;
  for (let seed = first; seed < first + DRAWN; seed++) {
    const next = integersOf(seed);
    const drawn = drawnSchema(next);
    const schema = {
      ...(typeof drawn === 'object' ? drawn : {}),
      $defs: { d: drawnSchema(next, 0) },
    } as JsonObject;
    const ajv = new Ajv2020({ strict: false, validateFormats: false, ownProperties: true });
    const files = new SchemaFiles([['s.json', schema]]);
    const values = new ImpossibleValues(files, (node, value) => {
      const own = { ...node.schema, $defs: schema.$defs };
      return ajv.validate(own, value) ? undefined : ajv.errorsText();
    });
    const impossible = values.of(applying(files.root('s.json'), files));
    if (!impossible) continue;
    found++;
    const validate = ajv.compile(schema);
    for (let at = 0; at < COMPARED; at++) {
      const value = drawnValue(next);
      if (validate(value))
        t.fail(
          `seed ${seed}: ${JSON.stringify(value)} obeys ${JSON.stringify(schema)}: ${impossible.reason}`,
        );
    }
  }
  t.ok(found > DRAWN / 20, `${found} of ${DRAWN} have no value`);
  t.end();
});
