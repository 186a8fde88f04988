import { declare } from '../support/collections.js';
import { declared } from '../support/declared.js';
import { testService } from '../support/service.js';
import t from '../support/test.js';
import { numbered, placeOf } from './faults.js';

const TEXT = { type: 'string' };
const TIME = { type: 'string', format: 'date-time' };
const NUMBER = { type: 'integer', 'x-index': true };
const PARENT = { type: 'string', 'x-references': 'users', 'x-immutable': true };

type Rules = { properties?: object; required?: string[]; 'x-collection'?: object };
const CALLER = { ...TEXT, 'x-set': '$caller' };
const next = (of: unknown) => ({ ...NUMBER, 'x-set': { next: of } });
const when = (values: object) => ({ ...TIME, 'x-set': { value: '$now', when: values } });

/** A declaration with a field `a`, and what its fault must be. */
const FAULTS: readonly (readonly [fault: string, field: object, more?: Rules])[] = [
  ['a/x-set: must be one of "$caller", "$now"', { ...TEXT, 'x-set': '$callr' }],
  ['a/x-set/on: must be one of "create", "write"', { ...TEXT, 'x-set': { value: '$now', on: 'x' } }],
  ['a/x-set/with: is not a known option', { ...TEXT, 'x-set': { value: '$caller', with: 1 } }],
  ['a/x-immutable: must be boolean', { ...TEXT, 'x-immutable': 'yes' }],
  ['a/x-set: $caller needs type string, without format', { ...CALLER, ...NUMBER }],
  ['a/x-set: $caller needs type string, without format', { ...CALLER, ...TIME }],
  ['a/x-set: $now needs type string and format date-time', { ...TEXT, 'x-set': '$now' }],
  ['a/x-set: $now needs type string and format date-time', { type: 'integer', 'x-set': { value: '$now' } }],
  ['a/default: the service sets the field', { ...CALLER, default: 'x' }],
  ['a/writeOnly: the service sets the field', { ...CALLER, writeOnly: true }],
  ['a/x-import-only: the service', { ...CALLER, 'x-import-only': true }],
  ['a/x-immutable: the service sets', { ...CALLER, 'x-immutable': true }],
  ['a/x-immutable: clients do not set the field', { ...TEXT, readOnly: true, 'x-immutable': true }],
  ['a/x-immutable: no record shows the field', { ...TEXT, writeOnly: true, 'x-immutable': true }],
  ['a/x-set: no request can set the field', CALLER, { required: ['a'] }],
  [
    'a/x-set: clients choose the record under which they create one',
    { ...CALLER, 'x-references': 'users' },
    { 'x-collection': { nested: true } },
  ],
  ['a/properties/b/x-set: has no effect here', { type: 'object', properties: { b: CALLER } }],
  ['a/items/x-immutable: has no effect here', { type: 'array', items: { ...TEXT, 'x-immutable': true } }],
  ['a/anyOf/0/x-set: has no effect here', { anyOf: [CALLER] }],
  ['a/x-set: numbers need type integer', { type: 'number', 'x-index': true, 'x-set': { next: true } }],
  [
    'a/x-set: numbers need type integer, and x-index or x-unique',
    { type: 'integer', 'x-set': { next: true } },
  ],
  ['a/x-set/next: b must be a field with x-references that is required, x-immutable', next('b')],
  ['a/x-set/next: b must be a field', next('b'), { properties: { b: PARENT } }],
  [
    'a/x-set/next: b must be a field',
    next('b'),
    { required: ['b'], properties: { b: { ...PARENT, 'x-immutable': false } } },
  ],
  [
    'a/x-set/next: b must be a field',
    next('b'),
    { required: ['b'], properties: { b: { ...PARENT, 'x-on-delete': 'null' } } },
  ],
  [
    'a/x-set: a collection has up to 4 fields with numbers',
    next(true),
    { properties: { b: next(true), c: next(true), d: next(true), e: next(true) } },
  ],
  [
    'a/x-set/on: has no effect beside when',
    { ...TIME, 'x-set': { value: '$now', on: 'write', when: { b: 1 } } },
    { properties: { b: TEXT } },
  ],
  ['a/x-set/when: must NOT have fewer than 1', when({})],
  ['a/x-set/when/b: there is no field b', when({ b: 1 })],
  ['a/x-set/when/a: must be a field that clients set', when({ a: 1 })],
  [
    'a/x-set/when/b: no record has the value of a write-only field',
    when({ b: 'x' }),
    { properties: { b: { ...TEXT, writeOnly: true } } },
  ],
];

t.test('faults of x-set and x-immutable name their place', async (t) => {
  const declarations = FAULTS.map(([, a, { properties = {}, ...more } = {}]) =>
    declared({ a, ...properties }, undefined, more),
  );
  const COLLECTIONS = declare(t, numbered(declarations));
  const error = await testService(t, { COLLECTIONS, MIGRATE: 'auto' }).catch((error: Error) => error);
  for (const [at, [fault]] of FAULTS.entries())
    t.match((error as Error).message, `c${at}.json#${placeOf(fault)}`);
});

t.test('the keywords apply behind $ref and in allOf', async (t) => {
  const files = {
    '_shared.json': { $defs: { who: { ...TEXT, 'x-set': '$caller' }, once: { 'x-immutable': true } } },
    'notes.json': declared({
      by: { $ref: '_shared.json#/$defs/who' },
      kind: { allOf: [TEXT, { $ref: '_shared.json#/$defs/once' }] },
    }),
  };
  const { send } = await testService(t, { COLLECTIONS: declare(t, files), MIGRATE: 'auto' });
  t.equal((await send('POST', '/notes', { body: { by: 'x' } })).status, 400);
  const { id } = (await send('POST', '/notes', { body: { kind: 'a' } })).json;
  const changed = await send('PATCH', `/notes/${id}`, { body: { kind: 'b' } });
  t.match([changed.status, changed.json.errors], [400, [{ path: '/kind', keyword: 'immutable' }]]);
});
