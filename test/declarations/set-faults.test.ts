import { declare } from '../support/collections.js';
import { testService } from '../support/service.js';
import t from '../support/test.js';

const TEXT = { type: 'string' };
const TIME = { type: 'string', format: 'date-time' };
const NUMBER = { type: 'integer', 'x-index': true };
const PARENT = { type: 'string', 'x-references': 'users', 'x-immutable': true };

/** A declaration with a field `a`, and what its fault must be. */
const FAULTS: readonly (readonly [fault: string, field: object, more?: object])[] = [
  ['/properties/a/x-set: must be one of "$caller", "$now"', { ...TEXT, 'x-set': '$callr' }],
  [
    '/properties/a/x-set/on: must be one of "create", "write"',
    { ...TEXT, 'x-set': { value: '$now', on: 'x' } },
  ],
  ['/properties/a/x-set/with: is not a known option', { ...TEXT, 'x-set': { value: '$caller', with: 1 } }],
  ['/properties/a/x-immutable: must be boolean', { ...TEXT, 'x-immutable': 'yes' }],
  ['/properties/a/x-set: $caller needs type string, without format', { ...NUMBER, 'x-set': '$caller' }],
  ['/properties/a/x-set: $caller needs type string, without format', { ...TIME, 'x-set': '$caller' }],
  ['/properties/a/x-set: $now needs type string and format date-time', { ...TEXT, 'x-set': '$now' }],
  [
    '/properties/a/x-set: $now needs type string and format date-time',
    { type: 'integer', 'x-set': { value: '$now' } },
  ],
  ['/properties/a/default: the service sets the field', { ...TEXT, 'x-set': '$caller', default: 'x' }],
  ['/properties/a/writeOnly: the service sets the field', { ...TEXT, 'x-set': '$caller', writeOnly: true }],
  ['/properties/a/x-import-only: the service', { ...TEXT, 'x-set': '$caller', 'x-import-only': true }],
  ['/properties/a/x-immutable: the service sets', { ...TEXT, 'x-set': '$caller', 'x-immutable': true }],
  [
    '/properties/a/x-immutable: clients do not set the field',
    { ...TEXT, readOnly: true, 'x-immutable': true },
  ],
  ['/properties/a/x-immutable: no record shows the field', { ...TEXT, writeOnly: true, 'x-immutable': true }],
  ['/properties/a/x-set: no request can set the field', { ...TEXT, 'x-set': '$caller' }, { required: ['a'] }],
  [
    '/properties/a/x-set: clients choose the record under which they create one',
    { ...TEXT, 'x-set': '$caller', 'x-references': 'users' },
    { 'x-collection': { nested: true } },
  ],
  [
    '/properties/a/properties/b/x-set: has no effect here',
    { type: 'object', properties: { b: { ...TEXT, 'x-set': '$caller' } } },
  ],
  [
    '/properties/a/items/x-immutable: has no effect here',
    { type: 'array', items: { ...TEXT, 'x-immutable': true } },
  ],
  ['/properties/a/anyOf/0/x-set: has no effect here', { anyOf: [{ ...TEXT, 'x-set': '$caller' }] }],
  [
    '/properties/a/x-set: numbers need type integer',
    { type: 'number', 'x-index': true, 'x-set': { next: true } },
  ],
  [
    '/properties/a/x-set: numbers need type integer, and x-index or x-unique',
    { type: 'integer', 'x-set': { next: true } },
  ],
  [
    '/properties/a/x-set/next: b must be a field with x-references that is required, x-immutable',
    { ...NUMBER, 'x-set': { next: 'b' } },
  ],
  [
    '/properties/a/x-set/next: b must be a field',
    { ...NUMBER, 'x-set': { next: 'b' } },
    { properties: { b: PARENT } },
  ],
  [
    '/properties/a/x-set/next: b must be a field',
    { ...NUMBER, 'x-set': { next: 'b' } },
    { required: ['b'], properties: { b: { ...PARENT, 'x-immutable': false } } },
  ],
  [
    '/properties/a/x-set/next: b must be a field',
    { ...NUMBER, 'x-set': { next: 'b' } },
    { required: ['b'], properties: { b: { ...PARENT, 'x-on-delete': 'null' } } },
  ],
  [
    '/properties/a/x-set: a collection has up to 4 fields with numbers',
    { ...NUMBER, 'x-set': { next: true } },
    {
      properties: Object.fromEntries(
        ['b', 'c', 'd', 'e'].map((name) => [name, { ...NUMBER, 'x-set': { next: true } }]),
      ),
    },
  ],
  [
    '/properties/a/x-set/on: has no effect beside when',
    { ...TIME, 'x-set': { value: '$now', on: 'write', when: { b: 1 } } },
    { properties: { b: TEXT } },
  ],
  ['/properties/a/x-set/when: must NOT have fewer than 1', { ...TIME, 'x-set': { value: '$now', when: {} } }],
  [
    '/properties/a/x-set/when/b: there is no field b',
    { ...TIME, 'x-set': { value: '$now', when: { b: 1 } } },
  ],
  [
    '/properties/a/x-set/when/a: must be a field that clients set',
    { ...TIME, 'x-set': { value: '$now', when: { a: 1 } } },
  ],
  [
    '/properties/a/x-set/when/b: no record has the value of a write-only field',
    { ...TIME, 'x-set': { value: '$now', when: { b: 'x' } } },
    { properties: { b: { ...TEXT, writeOnly: true } } },
  ],
];

t.test('faults of x-set and x-immutable name their place', async (t) => {
  const files = Object.fromEntries(
    FAULTS.map(([, field, more = {}], at) => {
      const { properties = {}, ...rest } = more as { properties?: object };
      return [`c${at}.json`, { type: 'object', properties: { a: field, ...properties }, ...rest }];
    }),
  );
  const error = await testService(t, { COLLECTIONS: declare(t, files), MIGRATE: 'auto' }).then(
    () => 'none',
    ({ message }: Error) => message,
  );
  for (const [at, [fault]] of FAULTS.entries()) t.match(error, `c${at}.json#${fault}`);
});

t.test('the keywords apply behind $ref and in allOf', async (t) => {
  const files = {
    '_shared.json': { $defs: { who: { ...TEXT, 'x-set': '$caller' }, once: { 'x-immutable': true } } },
    'notes.json': {
      type: 'object',
      properties: {
        by: { $ref: '_shared.json#/$defs/who' },
        kind: { allOf: [TEXT, { $ref: '_shared.json#/$defs/once' }] },
      },
    },
  };
  const { send } = await testService(t, { COLLECTIONS: declare(t, files), MIGRATE: 'auto' });
  t.equal((await send('POST', '/notes', { body: { by: 'x' } })).status, 400);
  const { id } = (await send('POST', '/notes', { body: { kind: 'a' } })).json;
  t.match(await send('PATCH', `/notes/${id}`, { body: { kind: 'b' } }), {
    status: 400,
    json: { errors: [{ path: '/kind', keyword: 'immutable' }] },
  });
});
