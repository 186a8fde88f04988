/** Declarations and values that make validation work hardest: what a test of memory combines at random, and a benchmark sends. */

/** A record whose rules refer to themselves. */
export const DEFINITIONS = {
  tree: { anyOf: [{ properties: { next: { $ref: '#/$defs/tree' } } }, { items: { $ref: '#/$defs/tree' } }] },
  sets: { items: { $ref: '#/$defs/sets' }, uniqueItems: true },
};

/** Rules without others inside. */
export const LEAVES: readonly object[] = [
  { type: 'number', minimum: 5 },
  { type: 'number', multipleOf: 0.01 },
  { type: 'string', maxLength: 3, pattern: '^(a+)+$', format: 'url' },
  { type: 'string', pattern: '^[a-z]+$' },
  { type: 'string', format: 'uri-template' },
  { type: 'string', format: 'email' },
  { type: 'string', format: 'date-time' },
  { type: 'null' },
  { const: { a: [1] } },
  { enum: ['a', 'b', { c: 1 }] },
  { required: ['x', 'y', 'z'] },
  { minProperties: 2, maxProperties: 8 },
  { $ref: '#/$defs/tree' },
  { $ref: '#/$defs/sets' },
];

/** Rules around others, by keyword. */
export const AROUND: Readonly<Record<string, (inner: () => object) => object>> = {
  items: (inner) => ({ type: 'array', items: inner() }),
  uniqueItems: (inner) => ({ type: 'array', uniqueItems: true, items: inner() }),
  contains: (inner) => ({ type: 'array', contains: inner(), minContains: 2 }),
  prefixItems: (inner) => ({ type: 'array', prefixItems: [inner()], unevaluatedItems: inner() }),
  anyOf: (inner) => ({ anyOf: [inner(), inner(), inner()] }),
  // Rules that exclude each other are a fault of a declaration.
  oneOf: (inner) => ({ oneOf: [inner(), { not: inner() }] }),
  allOf: (inner) => ({ allOf: [inner(), { anyOf: [inner(), {}] }] }),
  not: (inner) => ({ not: inner() }),
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  if: (inner) => ({ if: inner(), then: inner(), else: inner() }),
  additionalProperties: (inner) => ({ type: 'object', additionalProperties: inner() }),
  patternProperties: (inner) => ({
    type: 'object',
    patternProperties: { '^(k|k)+$': inner() },
    unevaluatedProperties: inner(),
  }),
  propertyNames: (inner) => ({ type: 'object', propertyNames: inner() }),
  dependentSchemas: (inner) => ({ type: 'object', dependentSchemas: { k1: inner() } }),
};

const inner = { type: 'number', minimum: 5 };

/** A declaration with a field for each keyword: those around others, and lists of those without others inside. */
export const KEYWORDS = {
  type: 'object',
  properties: Object.fromEntries([
    ...Object.entries(AROUND).map(([keyword, around]) => [keyword, around(() => inner)] as const),
    ...LEAVES.map((leaf, at) => [`leaf${at}`, leaf] as const),
    ...LEAVES.map((leaf, at) => [`items${at}`, { type: 'array', items: leaf }] as const),
  ]),
  $defs: DEFINITIONS,
};

/** Values of about so many bytes, by what is bad about them. */
export function worstValues(bytes: number): Readonly<Record<string, string>> {
  const repeated = (text: string) =>
    `[${`${text},`.repeat(Math.floor(bytes / (text.length + 1)) - 1)}${text}]`;
  const members = (value: string) =>
    `{${Array.from({ length: 9000 }, (_, n) => `"k${n}":${value}`).join(',')}}`;
  const deep = (open: string, value: string, close: string) =>
    `${open.repeat(25)}${value}${close.repeat(25)}`;
  return {
    numbers: repeated('1'),
    'different numbers': `[${Array.from({ length: Math.floor(bytes / 7) }, (_, n) => 100_000 + n).join(',')}]`,
    texts: repeated('"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"'),
    objects: `[${'{"x":1,"k1":"a"},'.repeat(Math.min(20_000, Math.floor(bytes / 18)))}{}]`,
    'different objects': `[${Array.from({ length: Math.min(30_000, Math.floor(bytes / 14)) }, (_, n) => `{"x":${n}}`).join(',')}]`,
    members: members('1'),
    'members with objects': members('{"next":1}'),
    'a text': `"${'a'.repeat(bytes)}b"`,
    'an address': `"${'a.'.repeat(bytes / 2)}@"`,
    'a name': `{"${'k'.repeat(bytes)}x":1}`,
    'a pointer to escape': `{"${'/'.repeat(bytes / 2)}":${`[${'1,'.repeat(bytes / 4)}1]`}}`,
    'a nested text': deep('[', `"${'x'.repeat(bytes - 100)}"`, ']'),
    'nested numbers': deep('[', repeated('1').slice(1, -61), ']'),
    'broken after nested numbers': deep('[', repeated('1').slice(1, -60), ']'),
    'nested objects': deep('{"next":', '1', '}'),
    'nested arrays': deep('[', '1', ']'),
  };
}
