import { declare } from '../support/collections.js';
import { plinth } from '../support/command.js';
import { testService } from '../support/service.js';
import t from '../support/test.js';

const record = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });

/** Faults, each as its file, pointer and the beginning of its reason, with what has them. */
const FILES: Readonly<Record<string, unknown>> = {
  'broken.json': '{"type": "object",',
  'empty.json': ' ',
  'events.json': record({}),
  'books.json': record(
    {
      type: { type: 'strin' },
      format: { type: 'string', format: 'dat-time' },
      unique: { type: 'string', 'x-uniqe': true },
      length: { type: 'string', maxLenght: 3 },
      nested: { type: 'object', properties: { deep: { type: 'array', itmes: {} } } },
      pattern: { type: 'string', pattern: '(' },
      default: { type: 'integer', default: 'x' },
      member: record({ inner: { type: 'string', maxLength: 1, default: 'xy' } }),
      long: { type: 'string', maxLength: 2001, 'x-index': true },
      list: { type: 'array', items: { type: 'string', maxLength: 5000 }, 'x-index': true },
      text: { type: 'string', 'x-index': true, default: 'é'.repeat(1001) },
      to: { type: 'string', 'x-references': 'book' },
      by: { type: 'string', 'x-references': 'users', default: 'ann' },
      closed: { ...record({ a: {} }), additionalProperties: false, required: ['a', 'b'] },
      ref: { $ref: '#/$defs/missing' },
      secret: { type: 'object', properties: { pin: { writeOnly: true } } },
    },
    {
      additionalProperties: false,
      required: ['nothing', 'created_at'],
      'x-collection': { lists: 'page' },
    },
  ),
  'trees.json': record({ next: { $ref: '#', default: {} } }),
  'authors.json': record({ name: { $ref: '_shared.json#/$defs/name' } }),
  '_shared.json': { $defs: { name: { type: 'string', minLenght: 1, default: 7 } } },
};

const EXPECTED = [
  'broken.json: is not JSON',
  'empty.json: is empty',
  'events.json: /events is a path of the service itself',
  'books.json#/properties/type/type: must be',
  'books.json#/properties/format/format: unknown format "dat-time"; did you mean date-time?',
  'books.json#/properties/unique/x-uniqe: unknown keyword: "x-uniqe"; did you mean x-unique?',
  'books.json#/properties/length/maxLenght: unknown keyword: "maxLenght"; did you mean maxLength?',
  'books.json#/properties/nested/properties/deep/itmes: unknown keyword: "itmes"; did you mean items?',
  'books.json#/properties/pattern/pattern: Invalid regular expression',
  'books.json#/properties/default/default: violates its own schema: must be',
  'books.json#/properties/member/properties/inner/default: violates its own schema: must',
  'books.json#/properties/long/maxLength: an index holds up to 2000 bytes',
  'books.json#/properties/list/items/maxLength: an index holds up to 2000 bytes',
  'books.json#/properties/text/default: has more than 2000 bytes',
  'books.json#/properties/to/x-references: there is no collection book',
  'books.json#/properties/by/default: must be the id of a record',
  'books.json#/properties/closed/required/1: requires "b", which is not declared',
  'books.json#/properties/secret/properties/pin/writeOnly: has no effect here',
  'trees.json#/properties/next/default: contains itself without end',
  'books.json#/required/0: requires "nothing", which is not declared',
  'books.json#/required/1: the service sets "created_at"',
  'books.json#/x-collection/lists: is not a known option',
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
    const lines = text.replaceAll(`${COLLECTIONS}/`, '').replaceAll('plinth: ', '').trim().split('\n');
    for (const expected of EXPECTED)
      t.ok(
        lines.find((line) => line.startsWith(expected)),
        expected,
        { lines },
      );
  }
  const { 'broken.json': _b, 'empty.json': _e, ...readable } = FILES;
  const others = declare(t, readable);
  const { err: text } = await plinth(t, ['collections', 'check'], { COLLECTIONS: others });
  t.match(text, "books.json#/properties/ref/$ref: can't resolve reference #/$defs/missing");
});

t.test('declarations whose rules can be met have no fault', async (t) => {
  const COLLECTIONS = declare(t, {
    'a.json': record({ n: { type: 'string', maxLength: 2000, 'x-index': true, default: 'x' } }),
    'b.json': record(
      { a: {} },
      { additionalProperties: false, required: ['a'], patternProperties: { '^x$': {} } },
    ),
    'c.json': record({
      a: { ...record({}), required: ['b'], unevaluatedProperties: false, properties: { b: {} } },
    }),
    'd.json': record({}, { not: { required: ['x'], additionalProperties: false } }),
    'e.json': record({ o: record({ p: { type: 'object', default: { q: 1 }, required: ['q'] } }) }),
    'f.json': record({ s: { type: 'string', maxLength: 20000, 'x-search': true } }),
    'g.json': record({ r: { type: ['string', 'null'], 'x-references': 'users', default: null } }),
  });
  const { code, err } = await plinth(t, ['collections', 'check'], { COLLECTIONS });
  t.match({ code, err }, { code: 0, err: '' });
});
