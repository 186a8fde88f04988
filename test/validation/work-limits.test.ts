import { escapeToken } from '../../src/json.js';
import { canonicalText } from '../../src/validation/equal-values.js';
import { comparisonsOf } from '../../src/validation/linear-patterns.js';
import { declare } from '../support/collections.js';
import { testService } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { words } from '../support/words.js';
import { PATTERNS } from './patterns.js';

const MIB = 1_000_000;
const list = (element: string, bytes = MIB) =>
  `[${`${element},`.repeat(Math.floor(bytes / (element.length + 1)))}${element}]`;
const distinct = (count: number, element: (n: number) => string) =>
  `[${Array.from({ length: count }, (_, n) => element(n)).join(',')}]`;
const nested = (depth: number, leaf: string) => '{"next":'.repeat(depth) + leaf + '}'.repeat(depth);

const number = { type: 'number' };
type Row = readonly [field: object, value: string, keyword?: string];
/** Expensive values of a field, with the keyword of the first failure; without one they are valid. */
const ROWS: readonly Row[] = [
  [{ type: 'array', uniqueItems: true }, distinct(90_000, (n) => `{"a":${n}}`).slice(0, 5), 'json'],
  [{ type: 'array', uniqueItems: true }, distinct(45_000, (n) => `{"a":${n}}`)],
  [
    { type: 'array', uniqueItems: true },
    `[{"a":1,"b":[1]},${distinct(40_000, (n) => `{"c":${n}}`).slice(1, -1)},{"b":[1],"a":1.0}]`,
    'uniqueItems',
  ],
  [
    { type: 'array', uniqueItems: true, items: { type: ['string', 'number'] } },
    distinct(50_000, (n) => `${n},"${n}"`),
  ],
  [{ type: 'array', uniqueItems: true }, distinct(140_000, (n) => `${n}`)],
  [{ type: 'array', items: { multipleOf: 0.01 } }, list('1', 70_000)],
  [{ type: 'array', items: { multipleOf: 0.01 } }, list('1'), 'complexity'],
  [{ type: 'array', items: { multipleOf: 0.01 } }, list('1e15'), 'complexity'],
  [{ type: 'array', items: { multipleOf: 1e-25 } }, list('1'), 'complexity'],
  [{ $ref: '#/$defs/lists' }, list('1'), 'complexity'],
  [{ type: 'array', uniqueItems: true, maxItems: 10 }, list('{"a":1}', 300_000), 'maxItems'],
  [
    { type: 'array', uniqueItems: true },
    `[${distinct(40_000, (n) => `[${n}]`)},${distinct(40_000, (n) => `[${n}]`)}]`,
    'uniqueItems',
  ],
  [{ type: 'string', format: 'url', maxLength: 200 }, `"http://${'a@'.repeat(40_000)}"`, 'maxLength'],
  [{ type: 'string', format: 'url' }, `"http://${'a@'.repeat(400_000)}"`, 'format'],
  [{ type: 'string', format: 'url' }, `"http://${'a-'.repeat(400_000)} "`, 'format'],
  [{ type: 'string', pattern: '^\\s+$', maxLength: 40 }, `"${' '.repeat(80_000)}x"`, 'maxLength'],
  [{ type: 'string', pattern: 'a+$', maxLength: 40 }, `"${'a'.repeat(80_000)}x"`, 'maxLength'],
  [{ type: 'string', pattern: 'a+$' }, `"${'a'.repeat(900_000)}x"`, 'pattern'],
  [{ type: 'string', pattern: '^(a+)+$' }, `"${'a'.repeat(900_000)}x"`, 'pattern'],
  [{ type: 'string', pattern: '^(a+)+$' }, `"${'a'.repeat(900_000)}"`],
  [{ type: 'string', pattern: '^(a|a)*$' }, `"${'a'.repeat(900_000)}x"`, 'pattern'],
  [{ type: 'string', pattern: '^\\S+@\\S+\\.\\S+$' }, `"${'a@a.'.repeat(225_000)} "`, 'pattern'],
  [
    { type: 'string', pattern: '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$' },
    `"${'QUJD'.repeat(225_000)}"`,
  ],
  [
    { type: 'string', allOf: Array.from({ length: 20 }, (_, n) => ({ pattern: `^(a|b)*.{0,${n}}$` })) },
    `"${'a'.repeat(900_000)}"`,
    'complexity',
  ],
  [{ type: 'object', patternProperties: { '^(a+)+$': number } }, `{"${'a'.repeat(60)}x":1}`],
  [{ type: 'object', patternProperties: { '^(a+)+$': { type: 'null' } } }, `{"${'a'.repeat(60)}":1}`, 'type'],
  [{ type: 'object', propertyNames: { pattern: '^(a+)+$' } }, `{"${'a'.repeat(60)}x":1}`, 'pattern'],
  [{ type: 'string', format: 'regex' }, `"${'\\\\p{L}'.repeat(100)}"`],
  [{ type: 'string', format: 'regex' }, `"${'\\\\p{L}'.repeat(1000)}"`, 'complexity'],
  [
    { type: 'array', items: { anyOf: [number, { type: 'boolean' }, { type: 'null' }] } },
    list('"x"'),
    'anyOf',
  ],
  [
    { type: 'array', items: { oneOf: [{ required: ['a'] }, { required: ['b'] }] } },
    list('{}', 200_000),
    'oneOf',
  ],
  [
    { type: 'array', items: { required: Array.from({ length: 200 }, (_, n) => `m${n}`) } },
    list('{}', 200_000),
    'required',
  ],
  [{ type: 'array', items: { anyOf: [number, { type: 'null' }] } }, list('1', 250_000)],
  [{ type: 'array', contains: { const: 1 } }, list('2'), 'complexity'],
  [{ type: 'array', contains: { const: 1 } }, `[${'2,'.repeat(90_000)}2]`, 'contains'],
  [
    { type: 'object', additionalProperties: false },
    `{${distinct(9000, (n) => `"k${n}":1`).slice(1, -1)}}`,
    'additionalProperties',
  ],
  [
    { type: 'object', additionalProperties: number },
    `{"${'k'.repeat(500_000)}":{"${'k'.repeat(400_000)}":1}}`,
    'type',
  ],
  [
    { type: 'array', items: { enum: Array.from({ length: 100 }, (_, n) => ({ n })) } },
    list('{"n":-1}', 200_000),
    'enum',
  ],
  [
    {
      type: 'object',
      additionalProperties: { type: 'array', items: { anyOf: [{ type: 'string' }, number] } },
    },
    `{"${'k'.repeat(500_000)}":${list('1', 200_000)}}`,
  ],
  [
    {
      type: 'object',
      additionalProperties: { type: 'array', items: { anyOf: [{ type: 'string' }, number] } },
    },
    `{"${'/'.repeat(500_000)}":${list('1', 200_000)}}`,
  ],
  [
    { type: 'object', additionalProperties: { anyOf: Array.from({ length: 90 }, () => ({ type: 'null' })) } },
    `{"${'~/'.repeat(400_000)}":1}`,
    'anyOf',
  ],
  [
    {
      type: 'object',
      additionalProperties: { anyOf: Array.from({ length: 90 }, () => ({ additionalProperties: false })) },
    },
    `{"a":{"${'~/'.repeat(400_000)}":1}}`,
    'anyOf',
  ],
  [{ type: 'array', contains: { $ref: '#/$defs/one' } }, `${list('2', 100_000).slice(0, -1)},1]`],
  [{ $ref: '#/$defs/sets' }, `[[["${'x'.repeat(900_000)}"]]]`],
  [
    { $ref: '#/$defs/sets' },
    `${'['.repeat(25)}${distinct(80_000, (n) => `[${n}]`)}${']'.repeat(25)}`,
    'complexity',
  ],
  [{ $ref: '#/$defs/tree' }, nested(24, '1'), 'complexity'],
  [{ $ref: '#/$defs/twice' }, nested(24, '1')],
];
const DEFINITIONS = {
  lists: { anyOf: [{ items: { $ref: '#/$defs/lists' } }, { type: 'number' }] },
  one: { const: 1 },
  sets: { items: { $ref: '#/$defs/sets' }, uniqueItems: true },
  // Each level has two alternatives that both look at the next one.
  tree: {
    anyOf: [
      { type: 'object', properties: { next: { $ref: '#/$defs/tree' } } },
      { type: 'object', properties: { next: { $ref: '#/$defs/tree' } }, minProperties: 0 },
    ],
  },
  twice: { allOf: [{ properties: { next: { $ref: '#/$defs/twice' } } }, { maxProperties: 1 }] },
};

async function failuresOf(t: Test): Promise<void> {
  const properties = Object.fromEntries(ROWS.map(([field], index) => [`f${index}`, field]));
  const declaration = { type: 'object', properties, $defs: DEFINITIONS };
  const folder = declare(t, { 'things.json': declaration });
  const { send } = await testService(t, { COLLECTIONS: folder, MIGRATE: 'auto' });
  for (const [index, [field, value, keyword]] of ROWS.entries()) {
    const name = `${JSON.stringify(field).slice(0, 80)} ${value.slice(0, 30)}`;
    const body = `{"f${index}":${value}}`;
    const response = await send('POST', '/things', { body, type: 'application/json' });
    t.equal(response.status, keyword ? 400 : 201, name);
    if (keyword === undefined) continue;
    t.match(response.json.errors, [{ keyword }], name);
    t.ok(response.text.length < 200_000, `${name}: ${response.text.length} bytes`);
  }
}

t.test('expensive values are stored, or rejected with the first failure', failuresOf);

t.test('a small body has all failures, a large one the first', async (t) => {
  const text = { type: 'string', maxLength: 10, pattern: '^[a-z]+$' };
  const folder = declare(t, { 'things.json': { type: 'object', properties: { a: text, b: text } } });
  const { send } = await testService(t, { COLLECTIONS: folder, MIGRATE: 'auto' });
  const keywords = async (value: string) =>
    (await send('POST', '/things', { body: { a: value, b: value } })).json.errors.map(
      ({ path, keyword }: { path: string; keyword: string }) => `${path} ${keyword}`,
    );
  t.same(await keywords('X'.repeat(20)), ['/a maxLength', '/a pattern', '/b maxLength', '/b pattern']);
  t.same(await keywords('X'.repeat(200_000)), ['/a maxLength']);
});

t.test('a path in a failure is short', async (t) => {
  const folder = declare(t, {
    'things.json': { type: 'object', properties: { a: { additionalProperties: { type: 'null' } } } },
  });
  const { send } = await testService(t, { COLLECTIONS: folder, MIGRATE: 'auto' });
  for (const [key, path] of [
    ['x/y', `/a/${escapeToken('x/y')}`],
    ['~0/~1', `/a/${escapeToken('~0/~1')}`],
    ['x'.repeat(2000), '/a'],
    ['/'.repeat(2000), '/a'],
  ] as const)
    t.equal((await send('POST', '/things', { body: { a: { [key]: 1 } } })).json.errors[0].path, path);
});

t.test('which patterns V8 compares, since it does so in linear time', (t) => {
  for (const [pattern, expected] of PATTERNS)
    t.equal(comparisonsOf(pattern) !== undefined, expected, pattern);
  t.end();
});

t.test('equal values have one text, others have others', (t) => {
  const values = words(`
    1 1.0 -0 0 "1" true null [] {} [1] ["1"] {"a":1,"b":2} {"b":2,"a":1} {"a":"1,\\"b\\":2"} [[1],2]
    [1,[2]] {"__proto__":1}
  `);
  const groups = new Map<string, string[]>();
  for (const text of values) {
    const key = canonicalText(JSON.parse(text));
    groups.set(key, [...(groups.get(key) ?? []), text]);
  }
  t.same(
    [...groups.values()].filter(({ length }) => length > 1),
    [
      ['1', '1.0'],
      ['-0', '0'],
      ['{"a":1,"b":2}', '{"b":2,"a":1}'],
    ],
  );
  t.end();
});

t.test('the schemas of other collections do not reduce the failures of a body', async (t) => {
  const options = Array.from({ length: 5000 }, (_, n) => `${n}`);
  const text = { $ref: '#/$defs/text' };
  const files = {
    'things.json': {
      type: 'object',
      properties: { a: text, b: text },
      $defs: { text: { type: 'string', maxLength: 2 } },
    },
    'others.json': { type: 'object', properties: { a: { enum: options } } },
    '_shared.json': { $defs: Object.fromEntries(options.map((name) => [name, { const: [1, 2, 3, 4] }])) },
  };
  const { send } = await testService(t, { COLLECTIONS: declare(t, files), MIGRATE: 'auto' });
  const body = { a: 'xxx', b: 'xxx', c: [1, 2, 3, 4, 5, 6, 7, 8, 9] };
  t.match((await send('POST', '/things', { body })).json.errors, [{ path: '/a' }, { path: '/b' }]);
});
