import { declare } from '../support/collections.js';
import { testService, UNDECLARED } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { testFaults } from './faults.js';

const name = { type: 'string', minLength: 2, maxLength: 50 };

/** Two files that say the same: by anchors, or by pointers. */
const files = (isAnchored: boolean) => {
  const named = (anchor: string, schema: object) => (isAnchored ? { $anchor: anchor, ...schema } : schema);
  const to = (anchor: string, pointer: string) => ({ $ref: isAnchored ? anchor : pointer });
  const indexed = { ...named('indexed', name), 'x-index': true, 'x-search': true };
  return {
    'notes.json': {
      title: 'Note',
      type: 'object',
      required: ['title'],
      properties: {
        title: to('#indexed', '#/$defs/a~1b'),
        code: { ...to('_shared.json#code', '_shared.json#/$defs/code'), 'x-unique': true },
        parts: { type: 'array', items: to('#part', '#/$defs/part') },
        other: { anyOf: [to('notes.json#part', '#/$defs/part'), { type: 'null' }] },
        inside: to('#deep', '#/properties/place/properties/deep'),
        place: { type: 'object', properties: { deep: named('deep', { type: 'integer' }) } },
        $anchor: { type: 'string', enum: ['#part'], default: '#part' },
        not: { not: to('#_a.b-1', '#/$defs/number') },
      },
      $defs: {
        'a/b': indexed,
        part: named('part', {
          type: 'object',
          required: ['name'],
          properties: {
            name: to('_shared.json#code', '_shared.json#/$defs/code'),
            parts: { type: 'array', items: to('#part', '#/$defs/part') },
          },
        }),
        number: named('_a.b-1', { type: 'number' }),
      },
    },
    '_shared.json': {
      $defs: { code: named('code', { type: 'string', pattern: '^[A-Z]{3}$', maxLength: 3 }) },
    },
  };
};

async function open(t: Test, isAnchored: boolean) {
  return testService(t, {
    COLLECTIONS: declare(t, files(isAnchored)),
    DATABASE_URL: UNDECLARED,
  });
}

t.test('a reference by an anchor is one by a pointer', async (t) => {
  const service = await open(t, true);
  for (const [body, status] of [
    [{ title: 'ok', code: 'ABC' }, 201],
    [{ title: 'o' }, 400],
    [{ title: 'code', code: 'abc' }, 400],
    [{ title: 'twice', code: 'ABC' }, 409],
    [{ title: 'parts', parts: [{ name: 'ABC', parts: [{ name: 'DEF' }] }] }, 201],
    [{ title: 'parts', parts: [{ name: 'ABC', parts: [{ name: 'def' }] }] }, 400],
    [{ title: 'other', other: { name: 'abc' } }, 400],
    [{ title: 'other', other: null }, 201],
    [{ title: 'inside', inside: 1.5 }, 400],
    [{ title: 'not', not: 1 }, 400],
    [{ title: 'the field', $anchor: 'x' }, 400],
  ] as const) {
    const { status: found, text } = await service.send('POST', '/notes', { body });
    t.equal(found, status, `${JSON.stringify(body)}: ${text}`);
  }
  const { json: list } = await service.send('GET', '/notes?filter[title][prefix]=ok&search=OK&page=1');
  t.equal(list.meta.total, 1, 'keywords behind an anchor have their effect');
  t.equal(list.data[0].$anchor, '#part');
  const { json: document } = await service.send('GET', '/openapi.json');
  const other = await open(t, false);
  const { json: plain } = await other.send('GET', '/openapi.json');
  t.same(document.components, plain.components, 'documents follow');
});

const record = (properties: object, $defs: object = {}) => ({ type: 'object', properties, $defs });

testFaults('anchors that cannot be are faults with a file, a place and a reason', [
  [record({ a: { $anchor: 1 } }), 'a/$anchor: must be string'],
  [record({ a: { $anchor: '' } }), 'a/$anchor: must match pattern'],
  [record({ a: { $anchor: '#a' } }), 'a/$anchor: must match pattern'],
  [record({ a: {} }, { b: { $anchor: 'a b' } }), '/$defs/b/$anchor: must match pattern'],
  [record({ a: { $anchor: '1a' } }), 'a/$anchor: must match pattern'],
  [record({ a: { $anchor: 'a' }, b: { $anchor: 'a' } }), 'b: another schema has the same $id or $anchor'],
  [record({ a: { $dynamicAnchor: 'a' } }), 'a/$dynamicAnchor: unknown keyword'],
  [record({ a: { $dynamicRef: '#a' } }), 'a/$dynamicRef: unknown keyword'],
  [record({ a: { $ref: '#missing' } }), "a/$ref: can't resolve reference #missing"],
  [record({ a: { $ref: 'users.json#missing' } }), "a/$ref: can't resolve reference users.json#missing"],
  [
    record(
      { a: { type: 'array', items: { $ref: '#b' } } },
      { b: { $anchor: 'b', type: 'string', 'x-index': true } },
    ),
    '/$defs/b/x-index: has no effect here',
  ],
]);
