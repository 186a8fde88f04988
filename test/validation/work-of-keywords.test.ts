import type { Json } from '../../src/json.js';
import { createAjv, loadFormats } from '../../src/validation/ajv.js';
import { loadAutomata } from '../../src/validation/pattern.js';
import { WorkLimitError, withinLimit } from '../../src/validation/work-limit.js';
import { declare } from '../support/collections.js';
import { plinth, startPlinth } from '../support/command.js';
import { testDatabase, testService } from '../support/service.js';
import t from '../support/test.js';

const many = <T>(count: number, one: (n: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => one(n));
const named = <T>(count: number, one: (n: number) => T): Record<string, T> =>
  Object.fromEntries(many(count, (n) => [`k${n}`, one(n)]));
const each = (count: number, schema: object) => ({ allOf: many(count, () => schema) });

const number = { type: 'number' };
const NUMBER = () => 7;
const MEMBER = () => ({ k0: 1 });

interface Row {
  /** A schema with so many entries, which applies to each item. */
  readonly schema: (entries: number) => object;
  readonly item: (n: number) => Json;
  /** The entries cost nothing, since the value is looked up in them. */
  readonly isLookedUp?: boolean;
}

/** Each keyword of JSON Schema 2020-12 with entries that all are compared with each item. */
const ROWS: Readonly<Record<string, Row>> = {
  allOf: { schema: (n) => each(n, number), item: NUMBER },
  anyOf: { schema: (n) => ({ anyOf: [...many(n, () => ({ minimum: 9 })), {}] }), item: NUMBER },
  oneOf: { schema: (n) => ({ oneOf: [...many(n, () => ({ minimum: 9 })), {}] }), item: NUMBER },
  not: { schema: (n) => each(n, { not: { type: 'string' } }), item: NUMBER },
  if: { schema: (n) => each(n, { if: { minimum: 9 }, else: number }), item: NUMBER },
  const: { schema: (n) => each(n, { const: 7 }), item: NUMBER },
  enum: { schema: (n) => ({ enum: many(n, (at) => at) }), item: NUMBER, isLookedUp: true },
  'enum of objects': {
    schema: (n) => ({ enum: many(n, (at) => ({ at: [at] })) }),
    item: () => ({ at: [7] }),
    isLookedUp: true,
  },
  properties: { schema: (n) => ({ properties: named(n, () => number) }), item: () => ({}) },
  defaults: { schema: (n) => ({ properties: named(n, () => ({ default: 1 })) }), item: () => ({}) },
  'a long default': {
    schema: (n) => ({ properties: { a: { default: 'x'.repeat(n) } } }),
    item: () => ({}),
  },
  patternProperties: {
    schema: (n) => ({ patternProperties: Object.fromEntries(many(n, (at) => [`^x${at}`, number])) }),
    item: MEMBER,
  },
  'patternProperties of automata': {
    schema: (n) => ({ patternProperties: Object.fromEntries(many(n, (at) => [`^(a+)+x${at}`, number])) }),
    item: MEMBER,
  },
  additionalProperties: { schema: (n) => each(n, { additionalProperties: number }), item: MEMBER },
  unevaluatedProperties: { schema: (n) => each(n, { unevaluatedProperties: number }), item: MEMBER },
  propertyNames: { schema: (n) => each(n, { propertyNames: { maxLength: 9 } }), item: MEMBER },
  required: { schema: (n) => each(n, { required: ['k0'] }), item: MEMBER },
  dependentRequired: { schema: (n) => ({ dependentRequired: named(n, () => ['k0']) }), item: MEMBER },
  dependentSchemas: {
    schema: (n) => ({ dependentSchemas: named(n, () => ({ minProperties: 1 })) }),
    item: MEMBER,
  },
  minProperties: { schema: (n) => each(n, { minProperties: 1 }), item: MEMBER },
  maxProperties: { schema: (n) => each(n, { maxProperties: 9 }), item: MEMBER },
  prefixItems: { schema: (n) => ({ prefixItems: many(n, () => number) }), item: () => [] },
  items: { schema: (n) => each(n, { items: number }), item: () => [1] },
  unevaluatedItems: { schema: (n) => each(n, { unevaluatedItems: number }), item: () => [1] },
  contains: { schema: (n) => each(n, { contains: number }), item: () => [1] },
  minItems: { schema: (n) => each(n, { minItems: 1 }), item: () => [1] },
  maxItems: { schema: (n) => each(n, { maxItems: 9 }), item: () => [1] },
  uniqueItems: { schema: (n) => each(n, { uniqueItems: true }), item: () => [{ a: 1 }] },
  minLength: { schema: (n) => each(n, { minLength: 1 }), item: () => 'a' },
  maxLength: { schema: (n) => each(n, { maxLength: 9 }), item: () => 'a' },
  pattern: { schema: (n) => each(n, { pattern: '^a' }), item: () => 'a' },
  format: { schema: (n) => each(n, { format: 'date-time' }), item: () => '2026-01-31T12:00:00Z' },
  minimum: { schema: (n) => each(n, { minimum: 1 }), item: NUMBER },
  multipleOf: { schema: (n) => each(n, { multipleOf: 0.01 }), item: NUMBER },
  $ref: {
    schema: (n) => ({ ...each(n, { $ref: '#/items/$defs/one' }), $defs: { one: number } }),
    item: NUMBER,
  },
  'a chain of $ref': {
    schema: (n) => ({
      $ref: '#/items/$defs/k0',
      $defs: named(n, (at) => (at === n - 1 ? number : { $ref: `#/items/$defs/k${at + 1}`, minimum: 1 })),
    }),
    item: NUMBER,
  },
};

/** The least units of work that are enough, by a search. */
function unitsOf(schema: object, value: Json): number {
  const validate = createAjv({ allErrors: false }).compile(schema);
  const isEnough = (units: number) => {
    try {
      if (!withinLimit(units, validate, structuredClone(value))) throw new Error('is not valid');
      return true;
    } catch (error) {
      if (error instanceof WorkLimitError) return false;
      throw error;
    }
  };
  let [low, high] = [0, 1];
  while (!isEnough(high)) [low, high] = [high, high * 2];
  while (high - low > high / 200) {
    const middle = (low + high) / 2;
    [low, high] = isEnough(middle) ? [low, middle] : [middle, high];
  }
  return high;
}

const ENTRIES = 100;
const ITEMS = 10;
const GROWTH = 1.8;

t.before(async () => {
  await loadFormats();
  await loadAutomata();
});

for (const [keyword, { schema, item, isLookedUp = false }] of Object.entries(ROWS))
  t.test(`${keyword}: work counts by the entries of the schema times the items of the value`, (t) => {
    const measured = (entries: number, items: number) =>
      unitsOf({ type: 'array', items: schema(entries) }, many(items, item));
    const base = measured(ENTRIES, ITEMS);
    const byItems = measured(ENTRIES, 2 * ITEMS) / base;
    const byEntries = measured(2 * ENTRIES, ITEMS) / base;
    t.ok(byItems > GROWTH && byItems < 2.2, `items: ${byItems}`);
    if (isLookedUp) t.ok(byEntries < 1.1, `entries: ${byEntries}`);
    else t.ok(byEntries > (keyword === 'a long default' ? 1.3 : GROWTH), `entries: ${byEntries}`);
    t.end();
  });

t.test('the table has each keyword of JSON Schema that is evaluated', (t) => {
  const ajv = createAjv();
  const without = ['type', 'then', 'else', 'maximum', 'exclusiveMaximum', 'exclusiveMinimum'];
  // Keywords that count with the one beside them.
  const others = ['minContains', 'maxContains', 'dependencies', 'id'];
  for (const [keyword, rule] of Object.entries(ajv.RULES.all))
    if (typeof rule === 'object' && ('code' in rule.definition || rule.definition.type.length > 0))
      t.ok(keyword in ROWS || [...without, ...others].includes(keyword), keyword);
  t.end();
});

/** Values of one kind that are as large as a body may be, or that a service is certain to have. */
const LEGITIMATE: readonly (readonly [field: object, value: Json])[] = [
  [
    {
      type: 'array',
      items: {
        type: 'object',
        required: ['k0', 'k1'],
        additionalProperties: false,
        properties: named(20, (n) => (n % 2 ? { type: 'string', maxLength: 30 } : { ...number, minimum: 0 })),
      },
    },
    many(10_000, () => named(4, (n) => (n % 2 ? 'abc' : 5))),
  ],
  [
    { type: 'array', items: { enum: many(5000, (n) => `city ${n}`) } },
    many(10_000, (n) => `city ${n % 5000}`),
  ],
  [{ type: 'object', additionalProperties: number }, named(8000, (n) => n)],
  [
    {
      type: 'array',
      items: {
        oneOf: many(8, (n) => ({
          type: 'object',
          required: ['type'],
          properties: { type: { const: n }, at: { type: 'string', format: 'date-time' } },
        })),
      },
    },
    many(10_000, (n) => ({ type: n % 8, at: '2026-01-31T12:00:00Z' })),
  ],
  [{ type: 'array', uniqueItems: true, items: number }, many(100_000, (n) => n)],
];

t.test('legitimate records are stored', async (t) => {
  const fields = named(500, (n) => (n % 2 ? { type: 'string', maxLength: 30 } : number));
  const folder = declare(t, {
    'wide.json': {
      type: 'object',
      properties: { a: { type: 'object', required: Object.keys(fields), properties: fields } },
    },
    ...Object.fromEntries(
      LEGITIMATE.map(([field], n) => [`c${n}.json`, { type: 'object', properties: { a: field } }]),
    ),
  });
  const { send } = await testService(t, { COLLECTIONS: folder, MIGRATE: 'auto' });
  const wide = named(500, (n) => (n % 2 ? 'abc' : n));
  t.equal((await send('POST', '/wide', { body: { a: wide } })).status, 201);
  for (const [n, [, value]] of LEGITIMATE.entries())
    t.equal((await send('POST', `/c${n}`, { body: { a: value } })).status, 201, `c${n}`);
});

t.test('a declaration that cannot be compiled is refused by name', async (t) => {
  const declared = (count: number) => ({
    type: 'object',
    properties: {
      a: { type: 'object', properties: named(count, () => ({ type: 'string', maxLength: 5 })) },
    },
  });
  const folder = declare(t, { 'wide.json': declared(3000), 'fair.json': declared(800) });
  const { code, err } = await plinth(t, ['collections', 'check'], { COLLECTIONS: folder });
  t.equal(code, 78);
  t.match(err, /wide.json.*more rules than can be compiled/);
  t.notMatch(err, /fair/);
  const started = startPlinth(t, ['serve'], {
    DATABASE_URL: await testDatabase(t),
    COLLECTIONS: folder,
    MIGRATE: 'auto',
    PORT: '0',
  });
  t.equal(await started.ended, 78);
  t.match(started.stderr(), /wide.*has more rules than can be compiled/);
});
