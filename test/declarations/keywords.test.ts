import { readChecked } from '../../src/declarations/check-declarations.js';
import { DeclarationError } from '../../src/declarations/read-declarations.js';
import { declare } from '../support/collections.js';
import { declared } from '../support/declared.js';
import { testService } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { until } from '../support/until.js';

const SHARED = {
  $defs: {
    secret: { type: 'string', minLength: 3, writeOnly: true },
    rank: { type: 'integer', readOnly: true },
    code: { type: 'string', maxLength: 20, 'x-normalize': ['trim', 'lower'], 'x-unique': true },
    named: { allOf: [{ type: 'string' }, { 'x-index': true, 'x-search': true }] },
    owner: { type: 'string', 'x-references': 'authors', 'x-on-delete': 'cascade' },
    language: { type: 'string', default: 'en' },
    imported: { type: 'string', 'x-import-only': true },
    isOld: { type: 'boolean', default: false },
  },
};
const AUTHORS = { title: 'Author', type: 'object', properties: { name: { type: 'string' } } };
const BOOKS = {
  title: 'Book',
  type: 'object',
  properties: {
    pin: { $ref: '_shared.json#/$defs/secret' },
    key: { $ref: '#/properties/pin' },
    note: { allOf: [{ type: 'string' }, { allOf: [{ $ref: '_shared.json#/$defs/secret' }] }] },
    rank: { $ref: '_shared.json#/$defs/rank' },
    code: { $ref: '#/$defs/code' },
    'full name': { $ref: '_shared.json#/$defs/named' },
    authorId: { $ref: '_shared.json#/$defs/owner' },
    language: { $ref: '_shared.json#/$defs/language' },
    isNew: { $ref: '_shared.json#/$defs/isOld' },
    isSold: { $ref: '_shared.json#/$defs/isOld', default: false },
    origin: { allOf: [{ $ref: '_shared.json#/$defs/imported' }] },
    'a/b~c': { $ref: '_shared.json#/$defs/secret' },
  },
  $defs: { code: { $ref: '_shared.json#/$defs/code' } },
};

t.test('keywords behind $ref and in allOf of a field apply to it', async (t) => {
  const files = { '_shared.json': SHARED, 'authors.json': AUTHORS, 'books.json': BOOKS };
  const { send } = await testService(t, { COLLECTIONS: declare(t, files), MIGRATE: 'auto' });
  const author = (await send('POST', '/authors', { body: {} })).json;
  const secrets = { pin: 'hunter2', key: 'hunter2', note: 'hunter2', 'a/b~c': 'hunter2' };
  const body = { ...secrets, rank: 7, code: ' ABC ', 'full name': 'Ann Lee', authorId: author.id };
  const created = await send('POST', '/books', { body });
  const json = { code: 'abc', 'full name': 'Ann Lee', language: 'en', isNew: false, isSold: false };
  t.match(created, { status: 201, json: { ...json, authorId: author.id } });
  const path = `/books/${created.json.id}`;
  t.equal((await send('PATCH', path, { body: { rank: 9 } })).status, 400);
  const patched = await send('PATCH', path, { body: { pin: 'hunter2!' } });
  t.equal(patched.status, 200);
  const read = () => send('GET', '/events?types=books.*');
  const events = await until('the events are final', read, ({ json }) => json.data.length === 2);
  const shown = [created, patched, await send('GET', path), await send('GET', '/books'), events];
  for (const { text } of shown) t.notMatch(text, /hunter2|"rank"/);
  for (const [name, value] of [
    ['code', 'aBc'],
    ['authorId', '01900000-0000-7000-8000-000000000000'],
    ['origin', 'x'],
    ['pin', 'x'],
  ] as const) {
    const refused = await send('POST', '/books', { body: { [name]: value } });
    t.ok([400, 409, 422].includes(refused.status), `${name}: ${refused.status}`);
  }
  t.match((await send('GET', '/books?search=nn%20l')).json, [{ id: created.json.id }]);
  const schema = (await send('GET', '/openapi.json')).json.components.schemas.Book;
  t.notOk('pin' in schema.properties, 'no response has it');
  t.equal((await send('DELETE', `/authors/${author.id}`)).status, 204);
  t.equal((await send('GET', path)).status, 404, 'deleted with its author');
});

const field = (schema: object) => ({ properties: { a: schema } });
const nested = (schema: object) => field({ type: 'object', properties: { b: schema } });

/** Where keywords of a field have no effect: `of` puts one there. */
const PLACES: Readonly<Record<string, [pointer: string, of: (schema: object, id: number) => object]>> = {
  'the record': ['', (schema) => schema],
  'a member of an object': ['/properties/a/properties/b', nested],
  items: ['/properties/a/items', (items) => field({ type: 'array', items })],
  prefixItems: [
    '/properties/a/prefixItems/0',
    (each) => field({ type: 'array', prefixItems: [each], minItems: 1, items: false }),
  ],
  contains: ['/properties/a/contains', (contains) => field({ type: 'array', contains })],
  additionalProperties: ['/additionalProperties', (additionalProperties) => ({ additionalProperties })],
  patternProperties: ['/patternProperties/^x', (each) => ({ patternProperties: { '^x': each } })],
  propertyNames: ['/propertyNames', (propertyNames) => ({ propertyNames })],
  'allOf of the record': ['/allOf/0/properties/a', (each) => ({ allOf: [field(each)] })],
  'anyOf of a field': ['/properties/a/anyOf/0', (each) => field({ anyOf: [each, { type: 'null' }] })],
  'oneOf of a field': ['/properties/a/oneOf/1', (each) => field({ oneOf: [{ type: 'null' }, each] })],
  not: ['/properties/a/not', (not) => field({ not })],
  if: ['/if/properties/a', (each) => ({ if: field(each) })],
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: ['/then/properties/a', (each) => ({ if: true, then: field(each) })],
  dependentSchemas: [
    '/dependentSchemas/x/properties/a',
    (each) => ({ dependentSchemas: { x: field(each) } }),
  ],
  'a definition of a member': [
    '/$defs/d',
    (d) => ({ ...nested({ $ref: '#/$defs/d' }), $defs: { d: { type: 'string', ...d } } }),
  ],
  'an anchor of a member': [
    '/$defs/d',
    (d) => ({ ...nested({ $ref: '#d' }), $defs: { d: { $anchor: 'd', ...d } } }),
  ],
  'a schema with an identifier': [
    '/$defs/d/$defs/e',
    (e, id) => ({
      ...nested({ $ref: `https://example.org/${id}#/$defs/e` }),
      $defs: { d: { $id: `https://example.org/${id}`, $defs: { e } } },
    }),
  ],
  'a record within a record': [
    '/properties/c',
    (c) => ({
      properties: { a: { type: 'array', items: { $ref: '#/properties/c' } }, c: { type: 'string', ...c } },
    }),
  ],
};
const KEYWORDS: Readonly<Record<string, unknown>> = {
  writeOnly: true,
  readOnly: true,
  'x-unique': true,
  'x-references': 'users',
  'x-index': true,
  'x-search': true,
  'x-import-only': true,
  'x-set': '$caller',
  'x-immutable': true,
  'x-normalize': ['trim'],
};

/** The faults with which a service does not start; `none`: it starts. */
async function faultsOfStart(t: Test, folder: string): Promise<string> {
  return testService(t, { COLLECTIONS: folder, MIGRATE: 'auto' }).then(
    () => 'none',
    (error: Error) => error.message.replaceAll(`${folder}/`, ''),
  );
}

/** The faults that the check of declarations finds; `none`: a service starts with them. */
async function faultsOf(t: Test, files: Readonly<Record<string, unknown>>): Promise<string> {
  const folder = declare(t, files);
  try {
    readChecked(folder, '', new Set());
  } catch (error) {
    if (!(error instanceof DeclarationError)) throw error;
    return error.message.replaceAll(`${folder}/`, '');
  }
  return faultsOfStart(t, folder);
}

t.test('a keyword is refused where it has no effect', async (t) => {
  for (const [place, [pointer, of]] of Object.entries(PLACES)) {
    const files = Object.fromEntries(
      Object.entries(KEYWORDS).map(([keyword, value], index) => [
        `c${index}.json`,
        { type: 'object', properties: {}, ...of({ [keyword]: value }, index) },
      ]),
    );
    const faults = await faultsOf(t, files);
    for (const [index, keyword] of Object.keys(KEYWORDS).entries()) {
      // An array of references.
      if (place === 'items' && keyword === 'x-references') continue;
      // The field itself has an effect; only the reference to it from elsewhere has none.
      t.match(faults, `c${index}.json#${pointer}/${keyword}: has no effect here`, `${place}: ${keyword}`);
    }
  }
});

t.test('faults of keywords name what they are about', async (t) => {
  const collection = (more: object) => ({ type: 'object', properties: {}, ...more });
  const rows: [faults: RegExp | string, declaration: object, shared?: object][] = [
    ['a.json#/properties/a/x-collection: has no effect', field({ 'x-collection': { list: 'page' } })],
    ['a.json#/properties/a/properties/b/x-indx: unknown keyword', nested({ 'x-indx': true })],
    [
      /_shared\.json#\/\$defs\/d\/writeOnly: has no effect.* referred to in .*a\.json#\/properties\/a\/properties\/b\/\$ref/,
      nested({ $ref: '_shared.json#/$defs/d' }),
    ],
    [
      /a\.json#\/properties\/b\/writeOnly: has no effect.* referred to in .*a\.json#\/properties\/a\/items\/\$ref/,
      { properties: { a: { type: 'array', items: { $ref: '#' } }, b: { writeOnly: true } } },
    ],
    [
      '#/properties/a/default: a field that is never returned',
      field({ type: 'string', writeOnly: true, default: 'x' }),
    ],
    ['#/properties/a/default: a field that is never', field({ writeOnly: true, allOf: [{ default: 'x' }] })],
    [
      '#/properties/a: has two values of default',
      { ...field({ $ref: '#/$defs/d', default: true }), $defs: { d: { default: false } } },
    ],
    [
      '#/allOf/0/properties/a/default: a field that is never',
      { ...field({ writeOnly: true }), allOf: [field({ default: 'x' })] },
    ],
    [
      '#/dependentSchemas/b/properties/a/default: a field that is never',
      { ...field({ writeOnly: true }), dependentSchemas: { b: field({ default: 'x' }) } },
    ],
    [
      '_shared.json#/$defs/e/properties/a/default: a field that is never',
      { ...field({ writeOnly: true }), $ref: '_shared.json#/$defs/e' },
      { e: field({ default: 'x' }) },
    ],
    [
      '_shared.json#/$defs/f/default: has no effect here',
      {
        ...field({ writeOnly: true }),
        allOf: [{ allOf: [field({ $ref: '_shared.json#/$defs/f' })] }],
      },
      { f: { default: 'x' } },
    ],
    [
      '#/properties/a: has two values of x-references',
      {
        properties: { a: { 'x-references': 'users', allOf: [{ 'x-references': 'a' }] } },
      },
    ],
    ['leads back to itself', { ...field({ anyOf: [{ type: 'null' }, { $ref: '#/properties/a' }] }) }],
    ['default: has no effect', field({ type: 'array', items: { type: 'string', default: 'x' } })],
    [
      'default',
      field({ oneOf: [{ type: 'object', properties: { x: { default: 'd' } } }, { type: 'null' }] }),
    ],
    ["can't resolve reference", field({ $ref: '_nothing.json#/$defs/d' })],
    ["can't resolve reference", field({ $ref: 'https://json-schema.org/draft/2020-12/schema' })],
    ['#/properties/a/nullable: unknown keyword', field({ type: 'string', nullable: true })],
    ['#/properties/a/$recursiveRef: unknown keyword', field({ $recursiveRef: '#' })],
    ['#/properties/a/formatMinimum: unknown', field({ format: 'date', formatMinimum: '2026-01-01' })],
    [
      '#/properties/a/default: x-normalize makes it "a"',
      field({ type: 'string', default: ' A', 'x-normalize': ['trim', 'lower'] }),
    ],
    [
      '#/properties/a/enum/1: x-normalize makes it "b"',
      field({ type: 'string', enum: ['a', 'B'], 'x-normalize': ['lower'] }),
    ],
    [
      '#/properties/a/const: x-normalize makes it "a"',
      field({ type: 'string', const: 'a ', 'x-normalize': ['trim'] }),
    ],
  ];
  for (const [expected, declaration, $defs = {}] of rows) {
    const shared = { $defs: { d: { type: 'string', writeOnly: true }, ...$defs } };
    const faults = await faultsOf(t, { 'a.json': collection(declaration), '_shared.json': shared });
    t.match(faults, expected, JSON.stringify(declaration));
  }
});

t.test('a former name that no migration can carry out is a fault', async (t) => {
  const was = (name: string) => ({ type: 'string', 'x-was': name });
  const rows: [faults: RegExp | string, properties: object][] = [
    ['#/properties/a/x-was: is the present name, too', { a: was('a') }],
    ['#/properties/b/x-was: is the former name of a, too', { a: was('c'), b: was('c') }],
    [/a\/x-was: leads back to the present name.*b\/x-was: leads back/s, { a: was('b'), b: was('a') }],
  ];
  for (const [expected, properties] of rows)
    t.match(await faultsOf(t, { 'a.json': { type: 'object', properties } }), expected);
  const collection = (name: string) => ({ type: 'object', properties: {}, 'x-collection': { was: name } });
  t.match(
    await faultsOf(t, { 'a.json': collection('b'), 'b.json': collection('a') }),
    /a\.json#\/x-collection\/was: leads back.*b\.json#\/x-collection\/was: leads back/s,
  );
  const chain = { a: was('b'), b: was('c') };
  t.equal(await faultsOf(t, { 'a.json': { type: 'object', properties: chain } }), 'none');
});

t.test('a rule of a type that a field cannot have, or beside one that excludes it, is a fault', async (t) => {
  const text = { type: 'string' };
  const user = { ...text, 'x-references': 'users', 'x-on-delete': 'null' };
  const rows: [fault: RegExp | string, field: unknown, more?: object][] = [
    ['a/anyOf/1/minimum: is more', { anyOf: [text, { minimum: 1, maximum: 0 }] }],
    ['$defs/d/minLength: is more', { $ref: '#/$defs/d' }, { $defs: { d: { minLength: 2, maxLength: 1 } } }],
    ['none', { ...text, minLength: 3, maxLength: 3 }],
    ['none', { type: ['string', 'number'], maxLength: 3, maximum: 3 }],
    ['none', { type: 'integer', maximum: 3, multipleOf: 2 }],
    ['none', { maxLength: 3, maximum: 3 }],
    ['a/enum: violates the other rules', { type: 'integer', enum: [1.5] }],
    ['a/const: violates the other rules', { type: ['string', 'null'], const: false }],
    ['none', { type: ['integer', 'null'], enum: [1, null, 2.0] }],
    ['a/x-normalize: has no effect', { type: 'object', 'x-normalize': ['trim'] }],
    ['a/x-normalize: has no effect', { type: 'boolean', 'x-normalize': ['trim'] }],
    ['a/x-normalize: has no effect', { type: 'array', items: text, 'x-normalize': ['integer'] }],
    ['none', { type: ['integer', 'null'], 'x-normalize': ['integer'] }],
    ['a/x-on-delete: would leave the record without a value', user, { required: ['a'] }],
    ['none', user],
  ];
  for (const [expected, field, more = {}] of rows) {
    const schema = { type: 'object', properties: { a: field }, ...more };
    const faults = await faultsOf(t, { 'things.json': schema });
    if (expected === 'none') t.equal(faults, 'none', JSON.stringify(schema));
    else t.match(faults, expected, JSON.stringify(schema));
  }
  for (const name of ['id', 'created_at', 'updated_at', '_version', '_links'])
    t.match(
      await faultsOf(t, { 'things.json': declared({ [name]: text }) }),
      `${name}: is a field of the service`,
    );
});

t.test('what has an effect is accepted', async (t) => {
  const tree = declared({ children: { type: 'array', items: { $ref: '#/$defs/tree' } } });
  const rows: object[] = [
    nested({ type: 'string', default: 'x' }),
    nested({ type: 'string', readOnly: false, writeOnly: false }),
    { ...field({ $ref: '#/$defs/tree' }), $defs: { tree } },
    { properties: { self: { $ref: '#' } } },
    {
      properties: { children: { type: 'array', items: { $ref: '#' } } },
      'x-collection': { list: 'page', sort: '-created_at' },
    },
    {
      ...field({}),
      dependentRequired: { a: ['writeOnly'], writeOnly: ['a'], default: ['a'], 'x-index': [] },
    },
    { ...nested({ writeOnly: false, default: 'x' }), allOf: [field({ default: {} })] },
    field({ enum: [{ writeOnly: true }], default: { writeOnly: true } }),
    { ...field({}), $defs: { unused: { writeOnly: true } } },
    { properties: { writeOnly: { type: 'boolean' }, 'x-unique': { type: 'string' } } },
  ];
  const files = rows.map((row, index) => [`c${index}.json`, { type: 'object', properties: {}, ...row }]);
  t.equal(await faultsOf(t, Object.fromEntries(files)), 'none');
});

t.test('a member that an object has twice is a fault', async (t) => {
  const text = `{"type": "object", "properties": {
    "a/b": {"type": "string", "writeOnly": true}, "c": {"enum": [{"d": 1, "d": 2}, ["{\\"e\\": 1, "]]},
    "\\u0061/b": {"type": "string"}}, "required": ["c", "c, \\"c\\": "]}`;
  const faults = await faultsOf(t, { 'a.json': text });
  t.match(faults, /a\.json: an object has the member "a\/b" twice/);
  t.match(faults, /a\.json: an object has the member "d" twice/);
  t.equal(faults.match(/ twice:/g)?.length, 2);
});
