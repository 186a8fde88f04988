import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { declare } from '../support/collections.js';
import { plinth } from '../support/command.js';
import { declared } from '../support/declared.js';
import { testService } from '../support/service.js';
import t from '../support/test.js';
import { checked, linesOf, testFaults } from './faults.js';

const record = (properties: object, more: object = {}) => declared(properties, undefined, more);

/** Faults, each as its file, pointer and the beginning of its reason, with what has them. */
const FILES: Readonly<Record<string, unknown>> = {
  'broken.json': '{"type": "object",',
  'empty.json': ' ',
  'events.json': record({}),
  'pg_class.json': record({}),
  'list.json': { type: 'array' },
  'books.json': record(
    {
      type: { type: 'strin' },
      format: { type: 'string', format: 'dat-time' },
      unique: { type: 'string', 'x-uniqe': true },
      index: { 'x-index': 1 },
      object: { type: 'object', 'x-index': true },
      length: { type: 'string', maxLenght: 3 },
      nested: { type: 'object', properties: { deep: { type: 'array', itmes: {} } } },
      pattern: { type: 'string', pattern: '(' },
      default: { type: 'integer', default: 'x' },
      member: record({ inner: { type: 'string', maxLength: 1, default: 'xy' } }),
      to: { type: 'string', 'x-references': 'book' },
      closed: { ...record({ a: {} }), additionalProperties: false, required: ['a', 'b'] },
      ref: { $ref: '#/$defs/missing' },
      secret: { type: 'object', properties: { pin: { writeOnly: true } } },
    },
    { additionalProperties: false, required: ['nothing', 'created_at'], 'x-collection': { listen: 'page' } },
  ),
  'trees.json': record({ next: { $ref: '#', default: {} } }),
  'authors.json': record({ name: { $ref: '_shared.json#/$defs/name' } }),
  '_shared.json': { $defs: { name: { type: 'string', minLenght: 1, default: 7 } } },
};

const EXPECTED = [
  'broken.json: is not JSON: ',
  'empty.json: is empty',
  'events.json: /events is a path of the service itself',
  'pg_class.json: PostgreSQL reserves names that begin with pg_',
  'list.json#/type: must be "object"',
  'books.json#type/type: must be',
  'books.json#format/format: unknown format "dat-time"; did you mean date-time?',
  'books.json#unique/x-uniqe: unknown keyword: "x-uniqe"; did you mean x-unique?',
  'books.json#index/x-index: must be boolean',
  'books.json#object/type: a field with x-index',
  'books.json#length/maxLenght: unknown keyword: "maxLenght"; did you mean maxLength?',
  'books.json#nested/properties/deep/itmes: unknown keyword: "itmes"; did you mean items?',
  'books.json#pattern/pattern: Invalid regular expression',
  'books.json#default/default: violates its own schema: must be',
  'books.json#member/properties/inner/default: violates its own schema: must',
  'books.json#to/x-references: there is no collection book',
  'books.json#closed/required/1: requires "b", which is not declared',
  'books.json#secret/properties/pin/writeOnly: has no effect here',
  'trees.json#/properties/next/default: violates its own schema: contains itself without end',
  'books.json#/required/0: requires "nothing", which is not declared',
  'books.json#/required/1: the service sets "created_at"',
  'books.json#/x-collection/listen: is not a known option',
  '_shared.json#/$defs/name/minLenght: unknown keyword: "minLenght"; did you mean minLength?',
  '_shared.json#/$defs/name/default: violates its own schema',
];

t.test('check and start report every fault of every file, each with its place', async (t) => {
  const COLLECTIONS = declare(t, FILES);
  const { code, err } = await plinth(t, ['collections', 'check'], { COLLECTIONS });
  t.equal(code, 78);
  const start = await testService(t, { COLLECTIONS, MIGRATE: 'auto' }).then(
    () => 'it starts',
    (error: Error) => error.message,
  );
  for (const text of [err, start]) {
    const lines = linesOf(text, COLLECTIONS);
    for (const expected of EXPECTED.map((each) => each.replace(/#(?!\/)/, '#/properties/')))
      t.ok(
        lines.find((line) => line.startsWith(expected)),
        expected,
        { lines },
      );
  }
  const { 'broken.json': _b, 'empty.json': _e, ...readable } = FILES;
  const others = (await checked(t, readable, 78)).join('\n');
  t.match(others, "books.json#/properties/ref/$ref: can't resolve reference #/$defs/missing");
});

const text = { type: 'string' };
const at = (name: string) => ({ $ref: `#/$defs/${name}` });
const NO_REQUEST = 'no request can set the field, and each record must have it';
testFaults('a fault has the place of its cause, once', [
  [
    record({ a: { ...text, $id: 'x:y' }, b: { $id: 'x:y', type: 'number' } }),
    'b: another schema has the same $id',
  ],
  [record({ a: { ...text, $id: '' } }), 'a: another schema has the same $id'],
  [
    record({ a: { type: 'object', properties: { b: { $id: 'c2.json' } } } }),
    'a/properties/b: another schema has',
  ],
  [record({ a: { ...text, readOnly: true } }, { required: ['a'] }), `a/readOnly: ${NO_REQUEST}`],
  [record({ a: { ...text, 'x-import-only': true } }, { required: ['a'] }), `a/x-import-only: ${NO_REQUEST}`],
  [
    record({ a: at('a') }, { allOf: [{ required: ['a'] }], $defs: { a: { readOnly: true } } }),
    `a/readOnly: ${NO_REQUEST}`,
  ],
  [
    record({ a: { ...text, 'x-set': '$caller' } }, { allOf: [{ required: ['a'] }] }),
    `a/x-set: ${NO_REQUEST}`,
  ],
  [
    record({ a: { ...text, writeOnly: true } }, { $ref: '#/$defs/a', $defs: { a: { required: ['a'] } } }),
    'a/writeOnly: a field that is never returned cannot be indexed, nor required',
  ],
  [
    record(
      { a: { ...text, 'x-references': 'users', 'x-on-delete': 'null' } },
      { allOf: [{ required: ['a'] }] },
    ),
    'a/x-on-delete: would leave the record without a value that it must have',
  ],
  [record({ a: { ...text, 'x-unique': 'yes' } }), 'a/x-unique: must be boolean or object'],
  [record({ a: { ...text, 'x-unique': ['a'] } }), 'a/x-unique: must be boolean or object'],
  [record({ a: { ...text, 'x-unique': { code: 'no' } } }), 'a/x-unique/code: must match pattern'],
  [
    record({ a: text }, { 'x-unique': [['a', 'b']] }),
    '/x-unique: has no effect here: it belongs to a field of the record, in /properties/<field>, or in what that refers to by $ref or allOf',
  ],
  [
    record({ a: text, b: text }, { 'x-collection': { unique: ['a', 'b'] } }),
    '/x-collection/unique/0: must be array or object',
    '/x-collection/unique/1: must be array or object',
  ],
  // One fault hides no other.
  [
    record(
      { a: at('a'), b: { ...text, const: 'x', minLength: 3 }, c: { type: 'integer', default: 'x' } },
      { $defs: { a: { allOf: [at('a')] } }, 'x-collection': { listen: 'page' } },
    ),
    'a: leads back to itself',
    'b/const: violates the other rules: must have at least 3',
    'c/default: violates its own schema',
    '/x-collection/listen: is not a known option',
  ],
]);

t.test('a file in another encoding is a fault that names its bytes', async (t) => {
  const latin = Buffer.from('{"type": "object", "title": "Café", "properties": {}}', 'latin1');
  const COLLECTIONS = declare(t, { 'utf16.json': {}, 'latin.json': {}, 'good.json': record({}) });
  writeFileSync(join(COLLECTIONS, 'latin.json'), latin);
  writeFileSync(join(COLLECTIONS, 'utf16.json'), Buffer.from([0xff, 0xfe, 0x7b]));
  mkdirSync(join(COLLECTIONS, 'target'));
  symlinkSync('target', join(COLLECTIONS, 'link.json'));
  const { code, err } = await plinth(t, ['collections', 'check'], { COLLECTIONS });
  t.equal(code, 78, err);
  t.match(err, /latin\.json: is not UTF-8: the bytes E9 22 2C 20 at offset 32/);
  t.match(err, /utf16\.json: .*encod/);
  t.match(err, /link\.json: cannot be read: EISDIR/);
  t.notMatch(err, /good\.json/);
});
